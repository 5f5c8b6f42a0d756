"""`profile …`: identities are touched under their lease only, and what they are logged into stays."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from koala import holds, keys, leases, tasks
from koala.exits import Exit
from koala.fence import Fence
from koala.leases import Lease, Terms
from koala.store import Store, open_store
from tests.support import access
from tests.support.command import Command, Running
from tests.support.data import data_volume
from tests.support.pool import OPERATION, Pool
from tests.support.program import freeze
from tests.support.redis_server import RedisServer
from tests.support.site import welcoming_site
from tests.support.waiting import until
from worker import locks, processes, profiles
from worker.volume import Volume

pytestmark = pytest.mark.redis

SHORT = {"KOALA_LEASE_TTL_S": "3", "KOALA_TRUST_MARGIN_S": "0.5"}
READY = "Log in there"
SAVED = "new logins are saved"
COOKIES = [
    {"name": "session", "value": "one", "domain": "shop.example", "path": "/", "expires": -1},
    {"name": "kept", "value": "two", "domain": ".shop.example", "path": "/", "expires": 1999999999, "secure": True},
]
STATE = {
    "cookies": COOKIES,
    "origins": [{"origin": "https://app.example:8443", "localStorage": [{"name": "token", "value": "stored"}]}],
}


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer(access.users()) as server:
        yield server


@pytest.fixture
def store(redis_server: RedisServer) -> Iterator[Store]:
    opened = open_store(redis_server.socket_url)
    opened.client.flushall()
    opened.close()
    opened = open_store(redis_server.socket_url)
    yield opened
    opened.close()


@pytest.fixture
def pool(store: Store) -> Pool:
    return Pool(store)


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


@pytest.fixture
def command(redis_server: RedisServer, where: Volume) -> Command:
    """As the person's user of the store, `operator`."""
    own = {"KOALA_REDIS_URL": redis_server.socket_url, "KOALA_DATA": str(where.path)}
    return Command({**own, **access.as_user("operator"), **SHORT})


@pytest.fixture
def state(tmp_path: Path) -> Path:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(STATE))
    return path


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with welcoming_site() as address:
        yield address


def listed(command: Command, name: str = "alice") -> dict[str, Any]:
    said = command("profile", "list", "--json")
    assert said.code == 0, said.err
    return next(row for row in said.data if row["name"] == name)


def cookies(path: Path) -> dict[str, str]:
    return {cookie["name"]: cookie["value"] for cookie in json.loads(path.read_text())["cookies"]}


@contextmanager
def logging_in(command: Command, url: str = "", **more: Any) -> Iterator[Running]:
    with command.started("profile", "login", "alice", *([f"--url={url}"] if url else []), **more) as running:
        running.hear(READY)
        running.tree()
        yield running


class TestImportAndExport:
    def test_what_was_imported_comes_out_again_session_cookies_and_storage_too(
        self, command: Command, store: Store, state: Path, tmp_path: Path
    ) -> None:
        """Promise 10."""
        assert command("profile", "import", "alice", str(state)).code == 0
        assert listed(command)["state"] == "clean"
        out = tmp_path / "out.json"
        said = command("profile", "export", "alice", str(out))
        assert said.code == 0, said.err
        assert cookies(out) == {"session": "one", "kept": "two"}
        (origin,) = json.loads(out.read_text())["origins"]
        assert origin["origin"] == "https://app.example:8443"
        assert origin["localStorage"] == [{"name": "token", "value": "stored"}]
        assert stat.S_IMODE(out.stat().st_mode) == 0o600
        again = command("profile", "export", "alice", str(out))
        assert (again.code, "exists" in again.err) == (Exit.REFUSED, True)
        assert leases.held(store) == {}

    def test_a_second_import_keeps_the_other_logins(
        self, command: Command, store: Store, state: Path, tmp_path: Path
    ) -> None:
        command("profile", "import", "alice", str(state))
        other = [{"name": "more", "value": "three", "domain": "other.example", "path": "/", "expires": -1}]
        state.write_text(json.dumps({"cookies": other, "origins": []}))
        assert command("profile", "import", "alice", str(state)).code == 0
        command("profile", "export", "alice", str(tmp_path / "out.json"))
        assert cookies(tmp_path / "out.json") == {"session": "one", "kept": "two", "more": "three"}

    def test_what_only_a_new_profile_can_take_is_refused_for_another(
        self, command: Command, store: Store, where: Volume, state: Path
    ) -> None:
        command("profile", "import", "alice", str(state))
        origin = {"origin": "https://app.example", "localStorage": [], "indexedDB": [{"name": "db", "version": 1}]}
        state.write_text(json.dumps({"cookies": [], "origins": [origin]}))
        said = command("profile", "import", "alice", str(state))
        assert (said.code, "new profile" in said.err) == (Exit.REFUSED, True)

    @pytest.mark.parametrize("text", ["nothing", "[]", '{"cookies": [{"name": "topsecret"}]}'])
    def test_what_is_no_storage_state_is_refused_without_a_value_of_it(
        self, command: Command, store: Store, state: Path, text: str
    ) -> None:
        """Promise 6."""
        state.write_text(text)
        said = command("profile", "import", "alice", str(state))
        assert said.code == Exit.USAGE
        assert "topsecret" not in said.err

    def test_there_is_nothing_to_export_of_a_profile_that_is_not_there(
        self, command: Command, store: Store, tmp_path: Path
    ) -> None:
        assert command("profile", "export", "nobody", str(tmp_path / "out")).code == Exit.NOT_FOUND


class TestLogin:
    def test_a_login_is_on_disk_a_moment_later_whatever_is_killed(
        self, command: Command, store: Store, site: str, tmp_path: Path
    ) -> None:
        """Promise 10."""
        with logging_in(command, site) as running:
            running.hear(SAVED)
            running.end()
        until(lambda: not leases.held(store), "the lease has run out")
        said = command("profile", "export", "alice", str(tmp_path / "out.json"))
        assert said.code == 0, said.err
        assert cookies(tmp_path / "out.json") == {"session": "open", "kept": "yes"}

    def test_enter_ends_it_and_the_profile_is_clean(self, command: Command, store: Store, site: str) -> None:
        with logging_in(command, site, terminal=True) as running:
            seen = listed(command)
            assert (seen["state"], seen["process"]["role"]) == ("open", "browser")
            assert "koala profile login alice" in seen["holder"]["worker"]
            running.type("")
            assert running.wait() == 0, running.said
        seen = listed(command)
        assert (seen["state"], seen["holder"], seen["process"]) == ("clean", None, None)

    def test_a_closed_window_ends_it_and_the_profile_is_clean(
        self, command: Command, store: Store, site: str, tmp_path: Path
    ) -> None:
        with logging_in(command, site) as running:
            running.hear(SAVED)
            os.kill(listed(command)["process"]["pid"], signal.SIGTERM)  # Chromium ends as when its window is closed
            assert running.wait() == 0, running.said
        assert listed(command)["state"] == "clean"
        command("profile", "export", "alice", str(tmp_path / "out.json"))
        assert cookies(tmp_path / "out.json") == {"session": "open", "kept": "yes"}

    def test_ctrl_c_ends_it_cleanly_and_leaves_nothing_running(self, command: Command, store: Store) -> None:
        with logging_in(command) as running:
            below = running.tree()
            running.popen.send_signal(signal.SIGINT)
            assert running.wait() == 0, running.said
        assert not any(processes.is_alive(process) for process in below)
        assert listed(command)["state"] == "clean"

    def test_no_task_of_the_profile_starts_meanwhile_and_the_next_one_does(self, command: Command, pool: Pool) -> None:
        """Promise 1."""
        task = pool.submit("alice")
        pool.slot("s1")
        with logging_in(command) as running:
            assert pool.hand_over() == []
            assert pool.acquire(task) == "held"
            running.end()
        until(lambda: pool.hand_over() == [task.id], "it is handed over once the lease has run out")

    def test_it_is_refused_while_a_task_runs_on_the_profile(self, command: Command, pool: Pool) -> None:
        attempt = pool.running("alice")
        said = command("profile", "login", "alice")
        assert (said.code, attempt.task.id in said.err) == (Exit.REFUSED, True)

    def test_a_lost_lease_ends_it_and_its_browser(self, command: Command, pool: Pool, store: Store) -> None:
        """Promise 1."""
        with logging_in(command) as running:
            below = running.tree()
            pool.lapse(Lease("", keys.resource("", "alice"), 0, 0.0))
            taken = holds.take(store, "alice", "somebody else", "token", Terms(60, 1))
            assert isinstance(taken, Lease)
            assert running.wait() == Exit.REFUSED
            assert "somebody else has it now" in running.said
        assert not any(processes.is_alive(process) for process in below)
        assert leases.held(store)[keys.resource("", "alice")]["fence"] == taken.fence

    def test_a_store_that_stays_away_ends_it_and_its_browser(self, command: Command) -> None:
        """Promise 1."""
        server = RedisServer(access.users())
        try:
            server.start()
            with logging_in(Command({**command.variables, "KOALA_REDIS_URL": server.socket_url})) as running:
                below = running.tree()
                server.freeze()
                assert running.wait() == Exit.REFUSED
                assert "the store was away for too long" in running.said
            assert not any(processes.is_alive(process) for process in below)
        finally:
            server.close()

    def test_without_a_display_it_says_what_else_there_is(self, command: Command, store: Store, where: Volume) -> None:
        said = command("profile", "login", "alice", KOALA_LOGIN_UNSEEN="")
        assert (said.code, "koala profile import alice" in said.err) == (Exit.REFUSED, True)
        assert list(where.profiles.iterdir()) == []

    def test_without_the_store_nothing_is_touched(self, command: Command, where: Volume) -> None:
        said = command("profile", "login", "alice", KOALA_REDIS_URL="unix:///nowhere")
        assert (said.code, "lease" in said.err) == (Exit.STORE_AWAY, True)
        assert list(where.profiles.iterdir()) == []

    @pytest.mark.display
    def test_the_browser_is_shown(self, command: Command, store: Store, site: str) -> None:
        with virtual_display() as display:
            shown = {"KOALA_LOGIN_UNSEEN": "", "DISPLAY": display}
            with logging_in(command, site, terminal=True, **shown) as running:
                pid = listed(command)["process"]["pid"]
                assert b"--headless" not in Path(f"/proc/{pid}/cmdline").read_bytes()
                running.type("")
                assert running.wait() == 0, running.said
        assert listed(command)["state"] == "clean"


@contextmanager
def virtual_display() -> Iterator[str]:
    reading, writing = os.pipe()
    command = ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x800x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=[writing], stderr=subprocess.DEVNULL) as server:
        os.close(writing)
        try:
            with os.fdopen(reading) as number:
                yield f":{number.readline().strip()}"
        finally:
            server.terminate()


class TestList:
    def test_without_the_store_it_shows_what_the_disk_says(self, command: Command, store: Store, where: Volume) -> None:
        profiles.create(where, "alice")
        said = command("profile", "list", "--json", KOALA_REDIS_URL="unix:///nowhere")
        assert (said.code, said.data[0]["name"], said.data[0]["state"]) == (0, "alice", "new")
        assert "leases are not shown" in said.err

    def test_a_damaged_record_is_named_and_hides_no_other(self, command: Command, store: Store, where: Volume) -> None:
        profiles.create(where, "alice")
        (profiles.create(where, "bob").path / "profile.json").write_text("{")
        assert listed(command, "bob")["state"] == "damaged"
        assert listed(command, "alice")["state"] == "new"

    def test_looking_takes_no_lock_away_from_a_browser_that_starts(
        self, command: Command, store: Store, where: Volume
    ) -> None:
        with logging_in(command):
            before = locks.read(where, locks.profile_path(where, "alice"))
            assert listed(command)["process"]["pid"] == (before and before.pid)


class TestDelete:
    def test_it_wants_a_yes_and_then_all_is_gone_but_the_fence(
        self, command: Command, store: Store, where: Volume
    ) -> None:
        profile = profiles.create(where, "alice")
        store.client.hset(keys.PROFILES, "alice", "{}")
        assert command("profile", "delete", "alice").code == Exit.USAGE
        assert profile.path.exists()
        assert command("profile", "delete", "alice", "--yes").code == 0
        assert list(where.profiles.iterdir()) == []
        assert locks.highest_fence(where, profile.lock).counter == 1
        assert not store.client.hexists(keys.PROFILES, "alice")
        assert command("profile", "delete", "alice", "--yes").code == Exit.NOT_FOUND

    def test_it_is_refused_while_a_task_or_a_person_has_the_profile(
        self, command: Command, pool: Pool, where: Volume
    ) -> None:
        profile = profiles.create(where, "alice")
        pool.running("alice")
        assert command("profile", "delete", "alice", "--yes").code == Exit.REFUSED
        assert profile.path.exists()


class TestUnlock:
    def test_a_frozen_old_browser_is_shown_and_with_a_yes_ended(
        self, command: Command, store: Store, where: Volume
    ) -> None:
        with logging_in(command) as running:
            freeze(process.pid for process in running.tree())
            until(lambda: not leases.held(store), "the lease has run out")
            assert listed(command)["process"]["state"] == "frozen"
            blocked = command("profile", "login", "alice")
            assert (blocked.code, "koala profile unlock alice" in blocked.err) == (Exit.REFUSED, True)
            until(lambda: not leases.held(store), "that lease is given back")
            pid = str(listed(command)["process"]["pid"])
            asked = command("profile", "unlock", "alice", "--because=it is frozen")
            assert (asked.code, pid in asked.err, "--yes" in asked.err) == (Exit.REFUSED, True, True)
            assert listed(command)["process"] is not None
            done = command("profile", "unlock", "alice", "--because=it is frozen", "--yes")
            assert done.code == 0, done.err
            assert listed(command)["process"] is None

    def test_a_profile_in_use_is_not_unlocked(self, command: Command, store: Store) -> None:
        with logging_in(command):
            said = command("profile", "unlock", "alice", "--because=I want it", "--yes")
            assert (said.code, "holds its lease" in said.err) == (Exit.REFUSED, True)
            assert listed(command)["process"] is not None

    def test_the_attempt_on_another_machine_is_reported_gone_by_name(
        self, command: Command, pool: Pool, where: Volume
    ) -> None:
        profiles.create(where, "alice")
        task = pool.unknown("alice")
        fence = pool.task(task).fence
        said = command("profile", "unlock", "alice", "--because=b2 is powered off")
        assert said.code == 0, said.err
        report = leases.gone_report(pool.store, task.id, fence)
        assert report
        assert report["because"] == "b2 is powered off"
        assert pool.effect(OPERATION).state == "sent"
        assert tasks.get(pool.store, task.id).status == "ready"

    def test_an_attempt_whose_child_lives_here_is_not_reported_gone(
        self, command: Command, pool: Pool, where: Volume
    ) -> None:
        """Promise 3."""
        profiles.create(where, "alice")
        attempt = pool.running("alice")
        fence = Fence.parse(attempt.fence)
        path = locks.create(where, locks.child_path(where, fence))
        with locks.take(where, path, "child", fence):
            facts = {"k": path.name, "d": "", "b": "", "machine": where.machine, "boot": processes.boot_id()}
            assert attempt.look(OPERATION, "{}")["ok"]
            assert attempt.sent(OPERATION, "token", "{}", False, facts)["ok"]
            pool.lose(attempt)
            said = command("profile", "unlock", "alice", "--because=surely gone", "--yes")
        assert "still lives here" in said.err
        assert leases.gone_report(pool.store, attempt.task.id, attempt.fence) is None
