"""What an attempt's ending means for its task, and which of the closed kinds of crash it was."""

from __future__ import annotations

import errno

import pytest

from koala import endings, metrics
from koala.counts import Crash
from koala.settings import Settings
from worker.outcome import UNFIT, outcome
from worker.tally import Tally

CRASHED = {"outcome": "crashed", "reason": "it died"}


@pytest.mark.parametrize(
    ("ending", "result", "kind"),
    [
        ({**CRASHED, "crash": "tab"}, "crashed", Crash.TAB),
        ({**CRASHED, "crash": "driver"}, "crashed", Crash.DRIVER),
        ({**CRASHED, "crash": "child"}, "crashed", Crash.CHILD),
        ({**CRASHED, "crash": "a text of the child's"}, "crashed", Crash.OTHER),
        (CRASHED, "crashed", Crash.OTHER),
        ({**CRASHED, "outcome": "failed", "code": "browser_hung"}, "crashed", Crash.BROWSER),
        ({**CRASHED, "outcome": "failed", "code": "browser_not_started"}, "parked", Crash.NO_BROWSER),
        ({**CRASHED, "code": UNFIT, "crash": "browser"}, "parked", Crash.BROWSER),
        ({"outcome": "failed", "reason": "no such page", "crash": "child"}, "failed", None),
        ({"outcome": "failed", "reason": "no space left", "code": "disk_full"}, "parked", None),
        ({"outcome": "done", "reason": "done"}, "done", None),
    ],
)
def test_what_died_is_one_of_the_closed_kinds(ending: dict[str, str], result: str, kind: Crash | None) -> None:
    found, details = outcome(ending, Settings(), 0)
    assert (found, details["crash"]) == (result, kind)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_no_fault_of_the_work(number: int) -> None:
    """The task waits for room, and has spent nothing."""
    ending = endings.raised(OSError(number, "it takes no more"), "shop", "task-1")
    found, details = outcome(ending, Settings(), 0)
    assert (found, details["delay_ms"], details["crash"]) == ("parked", 30_000, None)
    assert "make room" in details["reason"]


class Report:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.counted: list[tuple[str, dict[str, str]]] = []

    def count(self, name: str, labels: dict[str, str], amount: float = 1) -> None:
        self.counted.append((name, labels))

    def observe(self, name: str, labels: dict[str, str], seconds: float) -> None:
        self.counted.append((name, labels))


def test_dead_tabs_are_counted_one_by_one_and_not_again_when_they_end_the_attempt() -> None:
    report = Report()
    tally = Tally(report, "shop")  # type: ignore[arg-type]
    for _ in range(4):
        tally.tab_died()
    tally.ended("crashed", {"crash": Crash.TAB}, "")
    assert report.counted.count((metrics.CRASHED.name, {"kind": "tab"})) == 4


def test_a_browser_that_was_opened_is_counted_as_closed_also_when_it_was_cut() -> None:
    report = Report()
    tally = Tally(report, "shop")  # type: ignore[arg-type]
    tally.browser("ok")
    tally.ended("failed", {}, "")
    assert (metrics.BROWSER_CLOSED.name, {"result": "killed"}) in report.counted


def test_a_step_that_failed_has_no_duration() -> None:
    report = Report()
    tally = Tally(report, "shop")  # type: ignore[arg-type]
    for name, done in (("one", True), ("two", False)):
        tally.step_began(name)
        tally.step_ended(name, done=done)
    tally.step_ended("never begun", done=True)
    assert report.counted == [(metrics.STEP_TIME.name, {"workflow": "shop"})]
