"""Starts are written down before anything else, failures with their reason, and a row of them slows down."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from koala.errors import SettingsError
from koala.exits import Exit
from koala.redaction import know
from koala.starts import Start, Tally, counted, diary
from koala.starts.counting import WAITS_S, clean
from koala.starts.diary import Entry
from koala.starts.tally import KILLED
from tests.support.waiting import until

PASSWORD = "hunter-of-koalas"
HOUR_MS = 3_600_000


@pytest.fixture(autouse=True)
def _signals() -> object:
    """What counts a start listens to signals; a test does not."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def run(folder: Path, body: Callable[[Start], int]) -> int:
    return counted("worker", {"KOALA_STARTS": str(folder), "KOALA_IMAGE": "1.2"}, body)


def entries(folder: Path) -> list[Entry]:
    return diary.recent(folder, "worker")


def refuse(start: Start) -> int:
    raise SettingsError("KOALA_SLOTS is wrong")


class TestCounted:
    def test_a_start_is_on_record_before_the_program_does_anything(self, tmp_path: Path) -> None:
        def look(start: Start) -> int:
            assert [(entry.event, entry.image, entry.pid) for entry in entries(tmp_path)] == [
                ("start", "1.2", os.getpid())
            ]
            return 0

        assert run(tmp_path, look) == 0
        assert [(entry.event, entry.exit) for entry in entries(tmp_path)] == [("start", None), ("end", None)]

    def test_an_error_is_on_record_with_its_code_and_its_reason(self, tmp_path: Path) -> None:
        assert run(tmp_path, refuse) == Exit.SETTINGS
        end = entries(tmp_path)[-1]
        assert (end.exit, end.reason) == (66, "[settings] KOALA_SLOTS is wrong")

    def test_an_exception_of_ours_is_on_record_and_passes(self, tmp_path: Path) -> None:
        def broken(start: Start) -> int:
            raise ImportError("no module named worker.gone")

        with pytest.raises(ImportError):
            run(tmp_path, broken)
        end = entries(tmp_path)[-1]
        assert (end.exit, end.reason) == (1, "ImportError: no module named worker.gone")

    def test_ready_counts_once(self, tmp_path: Path) -> None:
        def comes_up(start: Start) -> int:
            start.ready()
            start.ready()
            return 0

        run(tmp_path, comes_up)
        assert [entry.event for entry in entries(tmp_path)] == ["start", "ready", "end"]

    def test_no_secret_and_no_password_of_an_address_is_kept(self, tmp_path: Path) -> None:
        def tells(start: Start) -> int:
            know(PASSWORD)
            raise SettingsError(f"{PASSWORD} is no address, nor is redis://:another-one@host/0\nat all")

        run(tmp_path, tells)
        text = (tmp_path / "worker.jsonl").read_text()
        assert PASSWORD not in text
        assert "another-one" not in text
        assert "is no address, nor is redis://********@host/0 at all" in text

    def test_a_reason_is_short(self) -> None:
        assert len(clean("x" * 5000)) == 300

    def test_without_a_directory_the_program_runs_all_the_same(self, tmp_path: Path) -> None:
        assert counted("worker", {}, lambda start: 0) == 0

    def test_a_directory_that_cannot_be_written_is_said_and_stops_nothing(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(tmp_path / "missing", lambda start: 0) == 0
        assert capsys.readouterr().err.count("this start is not counted") == 1

    def test_a_row_of_permanent_failures_slows_down_and_others_do_not(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited: list[int] = []
        monkeypatch.setattr("koala.starts.counting._pause", waited.append)
        for _ in range(7):
            run(tmp_path, refuse)
        run(tmp_path, lambda start: Exit.FAILED)
        assert waited == [*WAITS_S[1:], 8, 8]

    def test_what_failed_long_ago_or_elsewhere_slows_nothing_down(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited: list[int] = []
        monkeypatch.setattr("koala.starts.counting._pause", waited.append)
        run(tmp_path, refuse)
        text = (tmp_path / "worker.jsonl").read_text()
        first = [json.loads(line) for line in text.splitlines()]
        old = [{**line, "at_ms": line["at_ms"] - HOUR_MS} for line in first]
        others = [{**line, "host": "another"} for line in first]
        (tmp_path / "worker.jsonl").write_text("".join(json.dumps(line) + "\n" for line in [*old, *others]))
        run(tmp_path, refuse)
        assert waited == []


PROGRAM = """
import os, sys
from koala.errors import SettingsError
from koala.starts import counted

def body(start):
    print("up", flush=True)
    if sys.argv[1] == "sleeps":
        import time
        time.sleep(60)
    raise SettingsError("wrong")

sys.exit(counted("worker", os.environ, body))
"""


class TestSignals:
    def start(self, folder: Path, what: str, **more: str) -> subprocess.Popen[str]:
        environment = {**os.environ, "KOALA_STARTS": str(folder), **more}
        popen = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, what],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert popen.stdout
        assert popen.stdout.readline() == "up\n"
        return popen

    def test_one_during_the_start_ends_it_as_asked(self, tmp_path: Path) -> None:
        with self.start(tmp_path, "sleeps") as popen:
            popen.terminate()
            assert popen.wait(20) == 0
        assert [(entry.event, entry.exit) for entry in entries(tmp_path)] == [("start", None), ("end", None)]

    def test_an_engine_may_be_told_that_it_was_stopped_which_is_no_failure(self, tmp_path: Path) -> None:
        with self.start(tmp_path, "sleeps", KOALA_STOPPED_EXIT="143") as popen:
            popen.terminate()
            assert popen.wait(20) == 143
        assert entries(tmp_path)[-1].exit is None
        environment = {"KOALA_STARTS": str(tmp_path), "KOALA_STOPPED_EXIT": "143"}
        assert counted("worker", environment, lambda start: 0) == 0  # drained by a switch, for one

    def test_one_during_the_wait_after_a_failure_ends_the_wait_and_keeps_the_code(self, tmp_path: Path) -> None:
        for _ in range(4):
            Start("worker", tmp_path, "dev").end(Exit.OK)
            diary.append(tmp_path, failure())
        with self.start(tmp_path, "fails") as popen:
            until(lambda: sum(entry.exit == 66 for entry in entries(tmp_path)) == 5, "its end is on record")
            assert popen.poll() is None
            began = time.monotonic()
            popen.terminate()
            assert popen.wait(20) == 66
            assert time.monotonic() - began < 5


def failure() -> Entry:
    return Entry(time.time_ns() // 10**6, "worker", "end", socket.gethostname(), 1, "dev", "x", 66, "wrong")


class Told:
    """Lines of one program, as they follow each other."""

    def __init__(self) -> None:
        self.tally = Tally("worker")
        self._now = 1_000_000

    def life(
        self, exit: int | None = None, *, host: str = "one", pid: int = 7, ready: bool = False, lived_s: float = 2
    ) -> Tally:
        """One start, and how it went; without `exit` nothing more is heard of it."""
        given: dict[str, Any] = {"program": "worker", "host": host, "pid": pid, "image": "dev", "life": str(self._now)}
        told = [Entry(self._at(0), event="start", **given)]
        if ready:
            told.append(Entry(self._at(1), event="ready", **given))
        at = self._at(lived_s)
        if exit is not None:
            told.append(Entry(at, event="end", exit=exit, reason=f"why {exit}", lived_s=lived_s, **given))
        self.tally.take(told)
        return self.tally

    def _at(self, seconds: float) -> int:
        self._now += int(seconds * 1000) + 1
        return self._now


class TestTally:
    @pytest.fixture
    def told(self) -> Told:
        return Told()

    def test_failures_in_a_row_are_shown_until_one_comes_up(self, told: Told) -> None:
        told.life(66)
        tally = told.life(66)
        assert (tally.starts, tally.failures, tally.row, tally.exit, tally.reason) == (2, 2, 2, 66, "why 66")
        assert [host.host for host in tally.failing] == ["one"]
        tally = told.life(ready=True)
        assert (tally.starts, tally.row, tally.failing) == (3, 0, [])

    def test_one_that_comes_up_and_falls_again_and_again_is_a_row_too(self, told: Told) -> None:
        for _ in range(3):
            told.life(1, ready=True)
        assert told.tally.row == 3

    def test_a_long_life_begins_a_new_row(self, told: Told) -> None:
        told.life(66)
        assert told.life(1, ready=True, lived_s=3600).row == 1

    def test_a_planned_end_ends_the_row(self, told: Told) -> None:
        told.life(66)
        assert told.life(0, ready=True).row == 0

    def test_a_container_that_is_killed_is_known_by_its_next_start(self, told: Told) -> None:
        told.life()
        tally = told.life()
        (host,) = tally.failing
        assert (tally.failures, host.row, host.exit) == (1, 1, KILLED)
        assert "killed" in host.reason

    def test_two_workers_of_one_machine_are_not_taken_for_each_other(self, told: Told) -> None:
        told.life(ready=True, pid=100)
        assert told.life(ready=True, pid=200).failures == 0

    def test_another_container_that_comes_up_hides_no_failing_one(self, told: Told) -> None:
        told.life(66, host="two")
        tally = told.life(ready=True, host="one")
        assert [(host.host, host.row) for host in tally.failing] == [("two", 1)]

    def test_containers_of_days_ago_are_forgotten_and_their_starts_still_counted(self, told: Told) -> None:
        told.life(66, host="two")
        tally = told.life(0, host="one", lived_s=90_000)
        assert list(tally.hosts) == ["one"]
        assert tally.starts == 2

    def test_what_to_do_is_said(self, told: Told) -> None:
        (host,) = told.life(68).public()["failing"]
        assert host["do"] == "mount the right data volume, then start it again"

    def test_it_is_stored_and_read_whole(self, told: Told) -> None:
        told.life(66)
        text = told.tally.dump()
        assert Tally.parse("worker", text) == told.tally
        newer = json.dumps({**json.loads(text), "unheard_of": 1})
        assert Tally.parse("worker", newer) == told.tally
        assert Tally.parse("worker", "") == Tally("worker")
