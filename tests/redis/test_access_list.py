"""The configuration and the access list that containers use, on a real server: who gets in, and what is refused."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis as redis_py

from koala import queue, settings
from koala.errors import StoreForbidden, StoreUnsafe
from koala.queue import Seat
from koala.store import Store, access, open_store
from koala.store.client import Client, client_for
from koala.store.connection import durability
from tests.support import access as users
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer

CONF = Path(__file__).resolve().parents[2] / "container" / "redis" / "redis.conf"

REFUSED = (
    *(
        "FLUSHALL",
        "FLUSHDB",
        "KEYS *",
        "CONFIG SET maxmemory 1",
        "CONFIG REWRITE",
        "ACL LIST",
        "ACL SETUSER worker +@all",
    ),
    *("SHUTDOWN NOSAVE", "REPLICAOF 127.0.0.1 1", "MODULE LIST", "MONITOR", "SCRIPT FLUSH", "SAVE"),
    *("SUBSCRIBE rq:pubsub", "PUBLISH rq:pubsub x", "SELECT 1", "GET other", "SET other 1", "CLIENT LIST"),
)


@pytest.fixture(scope="module")
def closed() -> Iterator[RedisServer]:
    """A server as a container has it: nobody gets in without a name."""
    with RedisServer(users.users(open_to_tests=False), CONF) as server:
        yield server


def connected(server: RedisServer, user: str) -> Client:
    """A client of that user."""
    return client_for(server.socket_url, users.password(user), user)


@pytest.fixture
def worker_store(closed: RedisServer) -> Iterator[Store]:
    """The store as a worker opens it."""
    opened = open_store(closed.socket_url, users.password("worker"), "worker")
    yield opened
    opened.close()


@pytest.mark.parametrize("user", ["worker", "scheduler", "operator", "gateway", "console", "exporter"])
def test_every_user_can_prove_the_store_durable(closed: RedisServer, user: str) -> None:
    client = connected(closed, user)
    assert durability(client) == []
    client.close()


@pytest.mark.parametrize("user", ["worker", "scheduler", "operator", "gateway", "console", "exporter", "health"])
def test_nobody_may_empty_reconfigure_stop_or_leave_its_keys(closed: RedisServer, user: str) -> None:
    client = connected(closed, user)
    for words in REFUSED:
        with pytest.raises(StoreForbidden, match="forbids this"):
            client.execute_command(*words.split())
    client.close()


def test_what_scripts_and_transactions_wrote_is_there_after_a_restart() -> None:
    """Promise 4: Redis reads its log as its default user, and drops transactions that this one may not make."""
    with RedisServer(users.users(open_to_tests=False), CONF) as server:
        for user in ("worker", "scheduler", "operator"):
            with connected(server, user) as client:
                client.eval(
                    "redis.call('SET', KEYS[1], 1); redis.call('HSET', KEYS[2], 'a', 1)", 2, f"koala:{user}", "koala:h"
                )
        with connected(server, "worker") as client, client.pipeline() as pipe:
            pipe.set("koala:first", 1).set("koala:second", 2)
            pipe.execute()
        server.restart()
        with connected(server, "worker") as client:
            assert (
                client.exists(*(f"koala:{name}" for name in ("worker", "scheduler", "operator", "first", "second")))
                == 5
            )


def test_a_store_that_would_lose_transactions_is_refused() -> None:
    listed = users.users(open_to_tests=False).replace(
        "user default off resetpass ~* &* +@all", "user default off -@all"
    )
    with (
        RedisServer(listed, CONF) as server,
        pytest.raises(StoreUnsafe, match="a restart would lose transactions from its log: put `user default off"),
    ):
        open_store(server.socket_url, users.password("worker"), "worker")


@pytest.mark.parametrize(("user", "password"), [("", None), ("worker", "wrong"), ("nobody", "x"), ("default", "")])
def test_nobody_gets_in_without_a_name_and_its_password(closed: RedisServer, user: str, password: str | None) -> None:
    """It is told as what it is, and is not *away*: waiting would not help."""
    with pytest.raises(StoreUnsafe, match="KOALA_REDIS_USER"):
        open_store(closed.socket_url, password, user)


@pytest.mark.parametrize(
    ("user", "words"),
    [
        ("worker", "ZCARD koala:leases"),
        ("scheduler", "LMOVE rq:queue:a rq:queue:b LEFT RIGHT"),
        ("scheduler", "INCR koala:fence"),
        ("operator", "LPOP rq:queue:a"),
        ("gateway", "HSET koala:task:a x y"),
        ("gateway", "HGET rq:job:a x"),
        ("console", "HSET koala:switches pool x"),
        ("exporter", "HGET koala:task:a status"),
        ("health", "INFO"),
    ],
)
def test_each_has_only_what_it_needs(closed: RedisServer, user: str, words: str) -> None:
    client = connected(closed, user)
    with pytest.raises(StoreForbidden):
        client.execute_command(*words.split())
    client.close()


def test_debugging_is_closed_for_all(closed: RedisServer) -> None:
    client = connected(closed, "operator")
    with pytest.raises(redis_py.exceptions.ResponseError, match="DEBUG command not allowed"):
        client.execute_command("DEBUG", "SLEEP", "0")
    client.close()


def test_health_asks_without_a_password_whether_redis_answers(closed: RedisServer) -> None:
    assert client_for(closed.socket_url, "-", "health").ping()


def test_a_script_of_another_user_is_refused_with_what_to_do(closed: RedisServer, worker_store: Store) -> None:
    """It is never as if the store were away: that is waited out."""
    reader = Store(connected(closed, "console"))
    with pytest.raises(StoreForbidden, match=r"Make users\.acl again"):
        reader.run("renew", ["koala:lease:a", "koala:leases"], "1.1", 1000, "a")
    reader.close()


def test_a_command_inside_a_script_is_refused_by_that_name(closed: RedisServer, worker_store: Store) -> None:
    with pytest.raises(StoreForbidden, match="forbids this"):
        worker_store.client.eval("#!lua\nreturn redis.call('ZCARD', KEYS[1])", 1, "koala:leases")


def test_what_rq_may_not_do_is_told_too(closed: RedisServer) -> None:
    """Not as an outage: those are waited out."""
    with (
        queue.connect(closed.socket_url, users.password("scheduler"), "scheduler") as rq,
        pytest.raises(StoreForbidden),
    ):
        Seat(rq, "koala-x", "seat").take(0)


def test_the_users_do_their_work_together(closed: RedisServer, worker_store: Store) -> None:
    """Submitted by one, handed over by another, run and released by the third."""
    operator, scheduler = (
        Pool(open_store(closed.socket_url, users.password(user), user)) for user in ("operator", "scheduler")
    )
    worker = Pool(worker_store)
    task = operator.submit()
    worker.slot("s1")
    assert scheduler.hand_over() == [task.id]
    attempt = worker.sent(worker.start(task))
    assert worker.receipt(attempt)["ok"]
    assert attempt.release("done", {"result": "1"}) == "done"
    for one in (operator, scheduler):
        one.store.close()


def test_rqs_own_tool_shows_the_pool_to_the_operator(closed: RedisServer) -> None:
    with queue.connect(closed.socket_url, users.password("worker"), "worker") as rq:
        Seat(rq, "koala-x", "seat").register()
    url = closed.url.replace("//", f"//operator:{users.password('operator')}@")
    command = [sys.executable, "-m", "rq.cli", "info", "--url", url, "--raw"]
    shown = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert "queue koala-x 0" in shown.stdout, shown.stderr


def test_the_servers_own_settings(closed: RedisServer) -> None:
    client = connected(closed, "operator")
    got = client.config_get("*")
    wanted = {"save": "", "stop-writes-on-bgsave-error": "no", "protected-mode": "yes", "databases": "1"}
    assert {name: got[name] for name in wanted} == wanted
    client.close()


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A directory of secrets, as `secrets` makes it."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to give files away")
    make(tmp_path)
    return tmp_path


def make(root: Path, *words: str) -> None:
    """Run the maker of secrets."""
    command = [sys.executable, str(CONF.parents[1] / "secrets" / "make.py"), *words]
    subprocess.run(command, env={"KOALA_SECRETS": str(root)}, check=True, capture_output=True)


def opens(server: RedisServer, folder: Path, user: str, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a program gets in that is given a reader's directory, and nothing but that."""
    monkeypatch.setenv("KOALA_SECRETS_DIR", str(folder))
    monkeypatch.setenv("KOALA_REDIS_USER", user)
    monkeypatch.setenv("KOALA_REDIS_URL", server.socket_url)
    config = settings.load()
    try:
        open_store(config.redis_url, config.password, config.redis_user).close()
    except StoreUnsafe:
        return False
    return True


def test_what_the_maker_made_opens_the_store_also_while_a_password_changes(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A password changes without anybody being shut out, and the former one ends when that is said."""
    listed = made / "redis" / "users.acl"
    with RedisServer(listed.read_text(), CONF) as server:
        assert all(opens(server, made / user, user, monkeypatch) for user in ("worker", "scheduler", "operator"))
        assert not opens(server, made / "scheduler", "worker", monkeypatch)
        former = shutil.copytree(made / "worker", made / "former")

        def loaded(*words: str) -> list[bool]:
            make(made, *words)
            (server.home / "users.acl").write_text(listed.read_text())
            assert opens(server, made / "operator", "operator", monkeypatch)  # and so it is the operator who reloads
            assert access.main() == 0
            return [opens(server, folder, "worker", monkeypatch) for folder in (made / "worker", former)]

        assert loaded("rotate", "worker") == [True, True]
        assert loaded("retire") == [True, False]


def test_a_list_with_a_fault_changes_nothing(closed: RedisServer) -> None:
    file = closed.home / "users.acl"
    good = file.read_text()
    client = connected(closed, "operator")
    file.write_text(good.replace("+ping", "+no-such-command", 1))
    with pytest.raises(StoreUnsafe, match=r"keeps its former access list.*no-such-command"):
        access.reload(client)
    file.write_text(good)
    access.reload(client)
    assert client_for(closed.socket_url, users.password("worker"), "worker").ping()
    client.close()
