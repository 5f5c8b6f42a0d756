"""The demo's figures and its verdict."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from demo import plan
from demo.plan import Work
from demo.report import Evidence, Recovery, Report, Stuck, judge, refused_writes
from demo.tables import render
from koala.tasks import Task
from koala.timeline import Event

ORDERS = plan.orders("http://shop")
WORKS = [*ORDERS, *plan.news("http://shop")]
RECOVERIES = [Recovery("driver kill", 0.8, "killed the driver of ann-1")]


def task(work: Work, status: str = "done") -> Task:
    return Task("id-" + work.label, work.workflow, 1, work.profile, "{}", status, "")


@pytest.fixture
def good() -> Evidence:
    """A demo in which everything went well."""
    return Evidence(
        works=WORKS,
        tasks={work.label: task(work) for work in WORKS},
        events={work.label: [] for work in WORKS},
        references={work.order: 1 for work in ORDERS},
        logins=0,
        refused=2,
        recoveries=RECOVERIES,
    )


def text(report: Report, width: int) -> str:
    out = Console(file=io.StringIO(), width=width, markup=False, highlight=False)
    out.print(render(report, Path("build/demo/report.json")))
    written = out.file
    assert isinstance(written, io.StringIO)
    return written.getvalue()


def test_a_demo_in_which_all_went_well_passes(good: Evidence) -> None:
    report = judge(good)
    assert report.ok
    assert (report.tasks, report.succeeded, report.orders, report.lost) == (48, 48, 24, 0)
    assert (report.duplicates, report.logins_lost, report.stale_writes_refused) == (0, 0, 2)


def test_a_doubled_order_fails_the_demo(good: Evidence) -> None:
    report = judge(replace(good, references={**good.references, "ann-1": 3}))
    assert (report.orders, report.duplicates, report.ok) == (26, 2, False)


@pytest.mark.parametrize("status", ["failed", "review", "ready", "dead"])
def test_a_task_that_is_not_done_is_lost(good: Evidence, status: str) -> None:
    report = judge(replace(good, tasks={**good.tasks, "news 1": task(WORKS[-1], status)}))
    assert (report.succeeded, report.lost, report.ok) == (47, 1, False)


def test_a_task_that_nobody_has_seen_is_lost(good: Evidence) -> None:
    tasks = {label: found for label, found in good.tasks.items() if label != "ann-1"}
    assert judge(replace(good, tasks=tasks)).lost == 1


def test_an_order_that_is_done_but_not_in_the_shops_book_is_lost(good: Evidence) -> None:
    report = judge(replace(good, references={key: 1 for key in good.references if key != "bob-2"}))
    assert (report.succeeded, report.lost, report.ok) == (48, 1, False)


def test_a_repeated_login_is_a_lost_login(good: Evidence) -> None:
    report = judge(replace(good, logins=1))
    assert (report.logins_lost, report.ok) == (1, False)


def test_a_login_that_a_workflow_missed_is_a_lost_login_also_when_the_shop_counts_none(good: Evidence) -> None:
    gone = Event("1-0", 1, "log", {"text": "the login is gone"})
    assert judge(replace(good, events={**good.events, "ann-1": [gone]})).logins_lost == 1


@pytest.mark.parametrize(
    ("recovery", "problem"),
    [
        (Recovery("worker kill", None), "the worker kill never hit an attempt in work"),
        (Recovery("worker kill", None, "killed worker 1"), "work did not go on after the worker kill"),
    ],
)
def test_a_fault_that_was_not_carried_out_or_not_recovered_from_fails_the_demo(
    good: Evidence, recovery: Recovery, problem: str
) -> None:
    assert judge(replace(good, recoveries=[*RECOVERIES, recovery])).problems == [problem]


def test_a_mishap_of_the_demo_itself_fails_it(good: Evidence) -> None:
    assert judge(replace(good, mishaps=["left running: 7 chromium"])).problems == ["left running: 7 chromium"]


def test_the_json_has_the_figures_and_the_recoveries(good: Evidence, tmp_path: Path) -> None:
    judge(good).write(tmp_path / "report.json")
    record = json.loads((tmp_path / "report.json").read_text())
    wanted = ("tasks", "succeeded", "orders", "duplicates", "lost", "logins_lost", "stale_writes_refused")
    assert [record[key] for key in wanted] == [48, 48, 24, 0, 0, 0, 2]
    assert record["recoveries"] == [{"fault": "driver kill", "seconds": 0.8}]


@pytest.mark.parametrize("width", [80, 120])
def test_the_tables_fit_the_terminal_and_name_the_settings(good: Evidence, width: int) -> None:
    long = Recovery("worker kill", 6.2, "killed worker 2 with " + "ann-2 (order sent, no answer yet) and " * 2 + "x")
    shown = text(judge(replace(good, recoveries=[*RECOVERIES, long])), width)
    assert max(map(len, shown.splitlines())) <= width
    assert "lease TTL 5 s (default 15), settle 3 s" in " ".join(shown.split())
    assert "Passed" in shown


def test_what_is_stuck_is_told_with_its_reason_once_for_all_that_wait_for_the_same(good: Evidence) -> None:
    stuck = [Stuck(f"news {number}", "ready", "all 4 slots are busy") for number in (1, 2)]
    shown = text(judge(replace(good, stuck=stuck, mishaps=["it was not done after 180 s"])), 80)
    assert "news 1, news 2" in shown
    assert shown.count("all 4 slots are busy") == 1
    assert "Failed" in shown


def test_refused_writes_are_counted_in_the_workers_logs_only(tmp_path: Path) -> None:
    line = '{"action": "stale_write_refused", "write": "release"}\n'
    (tmp_path / "worker-1.log").write_text(line + '{"action": "attempt_ended"}\n')
    (tmp_path / "worker-2.log").write_text(line * 2)
    (tmp_path / "scheduler-1.log").write_text(line)
    assert refused_writes(tmp_path) == 3
