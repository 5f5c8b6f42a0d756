"""The doctor's checks, one by one: each finds what is wrong, and says what to do."""

from __future__ import annotations

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala.errors import VolumeError
from koala.exits import Exit
from koala.settings import Settings
from tests.support.data import data_volume
from worker import cgroup
from worker.commands.doctor import configuration, disk, fonts, limits, sandbox, storage
from worker.commands.doctor.finding import Finding, State, safely, warn
from worker.volume import MARK, Volume

OK, WARN, FAIL = State.OK, State.WARN, State.FAIL


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


def settings(**given: object) -> Settings:
    return Settings(_env_file=None, **given)


def states(findings: Iterator[Finding]) -> list[State]:
    found = list(findings)
    assert all(finding.do for finding in found if finding.state is not OK)
    return [finding.state for finding in found]


class TestChecks:
    def test_one_that_breaks_hides_no_other(self) -> None:
        def broken() -> Iterator[Finding]:
            yield warn("first", "found", "do")
            raise RuntimeError("oh")

        first, second = safely("second", broken)
        assert (first.name, second.name, second.state) == ("first", "second", FAIL)
        assert "oh" in second.found

    def test_an_error_of_koala_gives_its_exit_code(self) -> None:
        def refused() -> Iterator[Finding]:
            raise VolumeError("not this one")
            yield

        (found,) = safely("volume", refused)
        assert (found.found, found.exit) == ("not this one", Exit.VOLUME)


class TestPython:
    @pytest.mark.parametrize(("version", "state"), [((3, 10), FAIL), ((3, 11), OK), ((3, 13), OK), ((3, 14), WARN)])
    def test_what_koala_is_tested_with(
        self, monkeypatch: pytest.MonkeyPatch, version: tuple[int, int], state: State
    ) -> None:
        monkeypatch.setattr(sys, "version_info", (*version, 0, "final", 0))
        assert states(configuration.python()) == [state]


class TestSecrets:
    def folder(self, path: Path, mode: int = 0o400, text: str = "value-of-it") -> Path:
        folder = path / "secrets"
        folder.mkdir(mode=0o700)
        (folder / "shop_password").write_text(text)
        (folder / "shop_password").chmod(mode)
        return folder

    def test_mounted_ones_that_only_we_can_read_are_well(self, tmp_path: Path) -> None:
        found = list(configuration.secrets(settings(secrets_dir=self.folder(tmp_path))))
        assert {finding.state for finding in found} == {OK}
        assert "1 in" in found[-1].found

    @pytest.mark.parametrize(("mode", "text"), [(0o444, "value-of-it"), (0o400, ""), (0o400, "value-of-it\n")])
    def test_one_that_is_open_empty_or_has_a_newline_fails_without_its_value(
        self, tmp_path: Path, mode: int, text: str
    ) -> None:
        """Promise 6."""
        found = list(configuration.secrets(settings(secrets_dir=self.folder(tmp_path, mode, text))))
        assert (found[-1].state, found[-1].exit) == (FAIL, Exit.SETTINGS)
        assert "value-of-it" not in str(found)

    def test_a_directory_that_everyone_may_write_into_is_warned_of(self, tmp_path: Path) -> None:
        """Names may be seen; the files are closed by themselves."""
        folder = self.folder(tmp_path)
        folder.chmod(0o755)
        assert states(configuration.secrets(settings(secrets_dir=folder))) == [OK, OK]
        folder.chmod(0o757)
        assert states(configuration.secrets(settings(secrets_dir=folder))) == [WARN, OK]

    def test_one_that_is_not_there_fails(self, tmp_path: Path) -> None:
        assert states(configuration.secrets(settings(secrets_dir=tmp_path / "none"))) == [FAIL]


class TestWorkflows:
    def test_they_load_or_the_check_fails_with_their_code(self) -> None:
        assert states(configuration.workflows(settings(workflows="workflows.shop"))) == [OK]
        (found,) = safely("workflows", lambda: configuration.workflows(settings(workflows="no.such")))
        assert found.exit == Exit.WORKFLOWS


class TestVolume:
    def test_a_good_one_is_well(self, where: Volume) -> None:
        assert set(states(disk.data(settings(data=where.path)))) == {OK}

    def test_one_that_is_not_there_yet_is_mentioned(self, where: Volume) -> None:
        assert states(disk.data(settings(data=where.path / "new"))) == [WARN]

    def test_one_without_its_mark_fails(self, where: Volume) -> None:
        (where.path / MARK).unlink()
        (found,) = safely("volume", lambda: disk.data(settings(data=where.path)))
        assert (found.state, found.exit) == (FAIL, Exit.VOLUME)

    def test_too_little_room_fails(self, where: Volume) -> None:
        (space, *_) = disk._room("volume", where.path, 2**60)
        assert (space.state, space.exit) == (FAIL, Exit.VOLUME)


class TestLock:
    def test_the_kernel_keeps_a_second_process_out(self, where: Volume) -> None:
        (found,) = disk.lock(settings(data=where.path))
        assert found.state is OK
        assert list(where.tmp.iterdir()) == []

    def test_one_that_keeps_nobody_out_fails(
        self, where: Volume, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        program = tmp_path / "takes-no-lock"
        program.write_text("#!/bin/sh\nexec sleep 60\n")
        program.chmod(0o755)
        monkeypatch.setattr(disk, "DRIVER", program)
        monkeypatch.setattr(disk, "LOCK_S", 0.2)
        (found,) = disk.lock(settings(data=where.path))
        assert (found.state, found.exit) == (FAIL, Exit.VOLUME)


class TestLimits:
    @pytest.mark.parametrize(("soft", "state"), [(256, FAIL), (1024, WARN), (65536, OK), (-1, OK)])
    def test_open_files(self, monkeypatch: pytest.MonkeyPatch, soft: int, state: State) -> None:
        monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, -1))
        assert states(limits.files(settings())) == [state]

    @pytest.mark.parametrize(("room", "state"), [("100", FAIL), ("400", WARN), ("5000", OK), ("max", OK)])
    def test_processes_of_the_container(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, room: str, state: State
    ) -> None:
        self.cgroup(monkeypatch, {"pids.max": room, "pids.current": "0"})
        monkeypatch.setattr(resource, "getrlimit", lambda _: (-1, -1))
        assert states(limits.pids(settings(slots=2))) == [state]

    @pytest.mark.parametrize(("megabytes", "state"), [(200, FAIL), (600, WARN), (4000, OK)])
    def test_memory_of_the_container(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, megabytes: int, state: State
    ) -> None:
        self.cgroup(monkeypatch, {"memory.max": str(megabytes * limits.MEGA), "memory.current": "0"})
        a_slot = 400 * limits.MEGA
        (found,) = limits.memory(settings(slots=2, slot_bytes=a_slot, worker_bytes=0))
        assert found.state is state
        assert f"{megabytes} MB" in found.found

    def cgroup(self, monkeypatch: pytest.MonkeyPatch, files: dict[str, str]) -> None:
        given = {"/proc/self/cgroup": "0::/pool/worker"}
        given |= {f"/sys/fs/cgroup/pool/{name}": text for name, text in files.items()}
        monkeypatch.setattr(cgroup, "_text", lambda path: given.get(str(path), ""))

    def test_shared_memory_counts_only_where_the_browser_uses_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "SHM_MEGABYTES_A_SLOT", 10**9)
        assert states(limits.shared_memory(settings(), True)) == [FAIL]
        assert states(limits.shared_memory(settings(), None)) == [WARN]
        assert states(limits.shared_memory(settings(), False)) == [OK]

    def test_this_kernel_and_its_clock_will_do(self) -> None:
        assert states(limits.kernel()) == [OK]
        assert states(limits.clock()) == [OK]

    def test_a_clock_that_stands_still_fails(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "boottime", lambda: 1.0)
        assert states(limits.clock()) == [FAIL]


class TestSandbox:
    def off(self) -> Settings:
        return settings(browser_sandbox=False)

    def test_turned_off_is_always_a_warning(self) -> None:
        (found,) = sandbox.sandbox(self.off(), launched=True, layered=False)
        assert found.state is WARN
        assert "KOALA_BROWSER_SANDBOX=0" in found.found

    @pytest.mark.parametrize(
        ("launched", "layered", "state"), [(True, True, OK), (True, False, FAIL), (False, None, FAIL)]
    )
    def test_it_has_to_be_seen(
        self, monkeypatch: pytest.MonkeyPatch, launched: bool, layered: bool | None, state: State
    ) -> None:
        monkeypatch.setattr(sandbox, "blocking", lambda: ("the moon", "wait") if state is FAIL else ("", ""))
        (found,) = sandbox.sandbox(settings(browser_sandbox=True), launched, layered)
        assert found.state is state

    @pytest.mark.parametrize(
        ("path", "text", "blocker"),
        [
            ("/proc/sys/kernel/unprivileged_userns_clone", "0", "the kernel"),
            ("/proc/sys/user/max_user_namespaces", "0", "the kernel"),
            ("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor"),
            ("/proc/self/status", "NoNewPrivs:\t1\nSeccomp:\t2", "a seccomp profile"),
            ("/none", "", "something"),
        ],
    )
    def test_what_blocks_it_is_named(self, monkeypatch: pytest.MonkeyPatch, path: str, text: str, blocker: str) -> None:
        monkeypatch.setattr(sandbox.os, "geteuid", lambda: 1000)
        monkeypatch.setattr(sandbox, "_namespaces_work", lambda: False)
        monkeypatch.setattr(sandbox, "_value", lambda name: text if name == path else "")
        found, remedy = sandbox.blocking()
        assert found.startswith(blocker)
        assert remedy

    def test_root_is_named_first(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sandbox.os, "geteuid", lambda: 0)
        assert sandbox.blocking()[0] == "running as root"

    def test_a_process_in_a_namespace_of_its_own_is_seen(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inside = {"/proc/1/status": "NSpid:\t70", "/proc/2/status": "NSpid:\t71\t1"}
        monkeypatch.setattr(sandbox, "_value", lambda path: inside.get(path, ""))
        assert (sandbox.layered([1, 2]), sandbox.layered([1]), sandbox.layered([9])) == (True, False, None)


class TestTheRest:
    def test_fonts_are_looked_for_by_script(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(fonts.shutil, "which", lambda _: "/usr/bin/fc-list")
        monkeypatch.setattr(fonts, "_fonts_for", lambda language: True)
        assert states(fonts.fonts()) == [OK]
        monkeypatch.setattr(fonts, "_fonts_for", lambda language: language == "en")
        assert states(fonts.fonts()) == [WARN]
        monkeypatch.setattr(fonts, "_fonts_for", lambda language: False)
        assert states(fonts.fonts()) == [FAIL]

    def test_without_redis_server_runs_are_only_rehearsed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage.shutil, "which", lambda _: None)
        (found,) = storage.redis_server()
        assert (found.state, "rehearses" in found.do) == (WARN, True)
