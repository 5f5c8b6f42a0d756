"""The store itself: refused when it can lose what it acknowledged, and one error while it is away."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import redis as redis_py

from koala import handover, keys, leases, ledger, reviews, slots, switches, tasks, timeline
from koala.errors import StoreAway, StoreNewer, StoreUnsafe
from koala.exits import PERMANENT, Exit
from koala.store import OUTAGE, Store, open_store, scripts
from koala.tasks import Submission
from tests.support.pool import OPERATION, PRICE, Pool, dump, unchanged
from tests.support.redis_server import RedisServer
from tests.support.waiting import until

DURABLE = ("--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction", "--save", "")


@contextmanager
def server(home: Path, *settings: str) -> Iterator[str]:
    """A redis-server with these settings on a socket; yields its URL."""
    path = str(home / "s")
    own = ("--port", "0", "--unixsocket", path, "--dir", str(home))
    process = subprocess.Popen(["redis-server", *own, *settings], stdout=subprocess.DEVNULL)
    try:
        until(lambda: _listens(path), "redis-server")
        yield f"unix://{path}"
    finally:
        process.kill()
        process.wait()


def _listens(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a path short enough for a socket."""
    return tmp_path_factory.mktemp("r")


class TestRefused:
    @pytest.mark.parametrize(
        ("settings", "text"),
        [
            (("--appendonly", "no"), r"appendonly is 'no': set `appendonly yes`"),
            (("--appendonly", "yes", "--appendfsync", "everysec"), r"appendfsync is 'everysec': set"),
            ((*DURABLE[:4], "--maxmemory-policy", "allkeys-lru"), r"maxmemory-policy is 'allkeys-lru': set"),
            ((*DURABLE, "--rename-command", "CONFIG", ""), r"CONFIG is closed .* allow INFO and CONFIG GET"),
        ],
        ids=["no append-only file", "fsync every second", "eviction", "CONFIG closed"],
    )
    def test_a_store_that_can_lose_or_evict_writes(self, home: Path, settings: tuple[str, ...], text: str) -> None:
        """Promise 4: accepted means durable."""
        with server(home, *settings, "--save", "") as url:
            with pytest.raises(StoreUnsafe, match=text):
                open_store(url)
            with redis_py.Redis.from_url(url) as client:
                assert client.dbsize() == 0, "nothing is written into a store that is refused"

    def test_every_fault_is_named_at_once(self, home: Path) -> None:
        with server(home, "--maxmemory-policy", "volatile-ttl") as url, pytest.raises(StoreUnsafe) as error:
            open_store(url)
        assert all(name in str(error.value) for name in ("appendonly", "appendfsync", "maxmemory-policy"))

    def test_a_user_who_may_not_look(self, home: Path) -> None:
        acl = "user default on nopass ~* +@all -info"
        with server(home, *DURABLE, "--user", *acl.split()[1:]) as url, pytest.raises(StoreUnsafe, match="INFO"):
            open_store(url)

    def test_a_redis_below_seven(self, store: Store, redis_server: RedisServer, monkeypatch: Any) -> None:
        monkeypatch.setattr(redis_py.Redis, "info", lambda self, section: {"redis_version": "6.2.14"})
        with pytest.raises(StoreUnsafe, match=r"Redis 6\.2\.14 is too old: use 7\.0"):
            open_store(redis_server.socket_url)

    @pytest.mark.parametrize(("given", "text"), [("wrong", "invalid"), (None, "authenticated")])
    def test_a_wrong_or_missing_password(self, home: Path, given: str | None, text: str) -> None:
        """It is not *away*: waiting would not help."""
        with server(home, *DURABLE, "--requirepass", "hunter22") as url:
            with pytest.raises(StoreUnsafe, match=rf"(?i){text}.*KOALA_REDIS_PASSWORD") as error:
                open_store(url, given)
            assert "hunter22" not in str(error.value)
            open_store(url, "hunter22").close()

    def test_a_store_that_does_not_run_is_away(self, tmp_path: Path) -> None:
        with pytest.raises(StoreAway, match=r"Is Redis running, and is KOALA_REDIS_URL right\?"):
            open_store(f"unix://{tmp_path}/nobody")

    def test_a_password_in_the_address_is_not_shown(self) -> None:
        """Promise 6."""
        with pytest.raises(StoreAway) as error:
            open_store("redis://koala:hunter22@127.0.0.1:1/0")
        assert "hunter22" not in str(error.value)
        assert "127.0.0.1:1/0" in str(error.value)

    def test_a_store_of_a_newer_koala(self, store: Store, redis_server: RedisServer) -> None:
        store.client.set(keys.SCHEMA, 2)
        with unchanged(store), pytest.raises(StoreNewer, match="schema 2, this program knows 1"):
            open_store(redis_server.socket_url)

    def test_each_refusal_has_an_exit_code_after_which_nobody_restarts(self) -> None:
        codes = (StoreUnsafe.exit, StoreNewer.exit, StoreAway.exit)
        assert codes == (Exit.STORE_UNSAFE, Exit.STORE_NEWER, Exit.STORE_AWAY)
        assert [code in PERMANENT for code in codes] == [True, True, False]


class TestOpened:
    def test_opening_again_keeps_schema_and_epoch(self, store: Store, redis_server: RedisServer) -> None:
        with unchanged(store):
            open_store(redis_server.socket_url).close()

    def test_a_new_epoch_of_a_restore_is_not_undone(self, store: Store, redis_server: RedisServer) -> None:
        store.client.set(keys.EPOCH, 9_999_999_999_999)
        open_store(redis_server.socket_url).close()
        assert store.client.get(keys.EPOCH) == "9999999999999"

    def test_what_was_accepted_is_there_after_a_kill(self, own_redis: RedisServer) -> None:
        """Promise 4."""
        pool = Pool(open_store(own_redis.socket_url))
        accepted = [pool.submit(f"p{number}").id for number in range(20)]
        attempt = pool.sent(pool.start(pool.task(accepted[0])))
        before = dump(pool.store)
        own_redis.restart()
        assert dump(pool.store) == before
        assert pool.effect().state == "sent"
        assert attempt.settle(OPERATION, 1, "happened", token="token", receipt="1")["ok"]

    def test_scripts_that_redis_forgot_are_loaded_again(self, pool: Pool) -> None:
        pool.store.client.script_flush()
        assert pool.status(pool.submit()) == "ready"


CALLS: dict[str, Callable[[Pool, tasks.Task], object]] = {
    "submit": lambda pool, task: tasks.submit(pool.store, Submission("shop", 1, {})),
    "get": lambda pool, task: tasks.get(pool.store, task.id),
    "cancel": lambda pool, task: tasks.cancel(pool.store, task.id, "eva"),
    "ids": lambda pool, task: tasks.ids(pool.store, "ready"),
    "many": lambda pool, task: list(tasks.many(pool.store, [task.id])),
    "counts": lambda pool, task: tasks.counts(pool.store),
    "promote": lambda pool, task: tasks.promote(pool.store),
    "expire": lambda pool, task: tasks.expire(pool.store),
    "forget": lambda pool, task: tasks.forget(pool.store, 1),
    "now": lambda pool, task: tasks.now_ms(pool.store),
    "acquire": lambda pool, task: pool.acquire(task),
    "held": lambda pool, task: leases.held(pool.store),
    "rescue": lambda pool, task: leases.rescue(pool.store),
    "gone report": lambda pool, task: leases.gone_report(pool.store, task.id, "1.1"),
    "entry": lambda pool, task: ledger.entry(pool.store, OPERATION),
    "effects": lambda pool, task: ledger.of_task(pool.store, task.id),
    "open effects": lambda pool, task: ledger.open_of_task(pool.store, task.id),
    "forget effects": lambda pool, task: ledger.forget(pool.store, 1),
    "question": lambda pool, task: reviews.get(pool.store, "1-1"),
    "questions": lambda pool, task: reviews.open_questions(pool.store),
    "switches": lambda pool, task: switches.all_on(pool.store),
    "switch on": lambda pool, task: switches.turn_on(pool.store, "pool", "eva"),
    "switch off": lambda pool, task: switches.turn_off(pool.store, "pool"),
    "slots": lambda pool, task: slots.alive(pool.store),
    "heartbeat": lambda pool, task: pool.slot("s1"),
    "hand-over": lambda pool, task: handover.hand_over(pool.store),
    "timeline": lambda pool, task: timeline.read(pool.store, task.id),
}


class TestAway:
    def test_every_call_says_that_the_store_is_away(self, own_redis: RedisServer) -> None:
        """One error for reads, writes and pipelines, so that nobody dies of a restart."""
        pool = Pool(open_store(own_redis.socket_url))
        attempt = pool.running("anna")
        own_redis.kill()
        for call in CALLS.values():
            with pytest.raises(StoreAway, match="does not answer"):
                call(pool, attempt.task)
        with pytest.raises(StoreAway):
            attempt.look(OPERATION, PRICE)
        assert issubclass(StoreAway, OUTAGE)

    def test_the_client_is_whole_again_after_a_restart(self, own_redis: RedisServer) -> None:
        pool = Pool(open_store(own_redis.socket_url))
        attempt = pool.running("anna")
        own_redis.kill()
        with pytest.raises(StoreAway):
            attempt.checkpoint("one", "1")
        own_redis.start()
        assert attempt.checkpoint("one", "1") == {"ok": True}

    def test_a_frozen_store_is_away_within_the_timeout_and_its_late_answer_is_nobodys(
        self, own_redis: RedisServer
    ) -> None:
        pool = Pool(open_store(own_redis.socket_url, timeout_s=0.2))
        pool.running()  # the script is loaded
        task = pool.submit("anna")
        own_redis.freeze()
        began = time.monotonic()
        with pytest.raises(StoreAway):
            pool.acquire(task, token="mine")
        assert time.monotonic() - began < 20  # it would never answer
        own_redis.thaw()
        until(lambda: pool.status(task) == "running", "the write that was on its way")
        with unchanged(pool.store):
            lease = pool.acquire(task, token="mine")
        assert isinstance(lease, leases.Lease), "the same token asks what became of it"


class TestFull:
    """A store without memory refuses a script as a whole: half of one would lose a task."""

    @pytest.mark.parametrize("what", ["submit", "hand over", "acquire", "release", "rescue", "cancel", "sent"])
    def test_nothing_is_half_done(self, own_redis: RedisServer, what: str) -> None:
        """Promise 4."""
        pool = Pool(open_store(own_redis.socket_url))
        pool.slot("s1")
        running, waiting, lost = pool.running("anna"), pool.submit("bert"), pool.running("carl")
        running.look(OPERATION, PRICE)
        pool.lapse(lost.lease)
        calls: dict[str, Callable[[], object]] = {
            "submit": lambda: pool.submit("dora"),
            "hand over": pool.hand_over,
            "acquire": lambda: pool.acquire(waiting),
            "release": lambda: running.release("done", {}),
            "rescue": lambda: leases.rescue(pool.store),
            "cancel": lambda: tasks.cancel(pool.store, waiting.id, "eva"),
            "sent": lambda: pool.gate(running),
        }
        for name in ("submit", "handover", "acquire", "release", "rescue", "cancel", "effect_sent"):
            pool.store.client.script_load(scripts.source(name))
        with unchanged(pool.store):
            pool.store.client.config_set("maxmemory", 1)
            with pytest.raises(StoreAway, match=r"cannot write.*maxmemory"):
                calls[what]()
            pool.store.client.config_set("maxmemory", 0)
        calls[what]()
