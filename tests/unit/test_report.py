"""The pipe between a slot and its supervisor."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from structlog.testing import capture_logs

from worker.report import LONGEST, Metric, Reading, Report


class Ends:
    """Both ends of one pipe, and what came out of it."""

    def __init__(self) -> None:
        self.beats = 0
        self.metrics: list[Metric] = []
        self.reading = Reading(0, self._beat, self.metrics.append)
        self.report = Report(os.dup(self.reading.writing))
        self.reading.started()

    def _beat(self) -> None:
        self.beats += 1


@pytest.fixture
def ends() -> Iterator[Ends]:
    made = Ends()
    yield made
    made.reading.close()


def test_what_a_slot_says_is_heard_in_order(ends: Ends) -> None:
    ends.report.beat()
    ends.report.count("attempts", {"outcome": "done"})
    ends.report.observe("attempt_seconds", {"workflow": "shop.order"}, 1.5)
    assert ends.reading.take()
    assert ends.beats == 1
    assert ends.metrics == [
        Metric("count", "attempts", {"outcome": "done"}, 1),
        Metric("observe", "attempt_seconds", {"workflow": "shop.order"}, 1.5),
    ]


def test_lines_of_many_threads_do_not_mix(ends: Ends) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: ends.report.count(f"name-{number}", {"x": "y" * 100}), range(200)))
    ends.reading.take()
    assert {metric.name for metric in ends.metrics} == {f"name-{number}" for number in range(200)}


def test_a_full_pipe_costs_reports_and_never_time_and_says_how_many(ends: Ends) -> None:
    while not ends.report._dropped:
        ends.report.beat()
    ends.report.beat()
    ends.reading.take()
    heard = ends.beats
    with capture_logs() as logs:
        ends.report.count("after", {})
        ends.reading.take()
    assert [(line["event"], line["number"]) for line in logs] == [("reports_dropped", 2)]
    assert ([metric.name for metric in ends.metrics], ends.beats) == (["after"], heard)


def test_a_line_too_long_to_be_written_whole_is_dropped(ends: Ends) -> None:
    ends.report.count("x" * LONGEST, {})
    ends.report.beat()
    ends.reading.take()
    assert (ends.metrics, ends.beats) == ([], 1)


def test_what_is_no_line_of_ours_is_left_out(ends: Ends) -> None:
    for nonsense in (b"no json\n", b"[]\n", b'{"count":"x"}\n', b'{"count":"x","labels":{},"value":"y"}\n'):
        os.write(ends.report._descriptor or 0, nonsense)
    ends.report.beat()
    ends.reading.take()
    assert (ends.metrics, ends.beats) == ([], 1)


def test_the_last_words_of_a_slot_are_heard_after_its_end(ends: Ends) -> None:
    ends.report.count("last", {})
    os.close(ends.report._descriptor or 0)
    assert not ends.reading.take()
    assert [metric.name for metric in ends.metrics] == ["last"]


def test_nobody_listens_and_nothing_happens() -> None:
    Report().beat()
    reading, writing = os.pipe()
    os.close(reading)
    deaf = Report(writing)
    deaf.beat()
    os.close(writing)


def test_a_program_that_the_slot_starts_does_not_inherit_its_pipe(ends: Ends) -> None:
    assert not os.get_inheritable(ends.report._descriptor or 0)
