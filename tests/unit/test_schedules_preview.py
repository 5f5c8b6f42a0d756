"""What is told before a schedule is turned on."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from koala.schedules.definition import Definition
from koala.schedules.preview import at_change, shortest_gap_ms, too_long, upcoming
from koala.schedules.zones import moment

HOUR = 3_600_000


def define(place: str = "Europe/Berlin", **more: Any) -> Definition:
    return Definition("nightly", "shop", 1, place, **more)


def remarks(definition: Definition, begin: str, number: int) -> list[tuple[str, ...]]:
    return [run.remarks for run in upcoming(definition, moment(datetime.fromisoformat(begin)), number)]


def test_runs_are_told_in_the_zone_and_in_utc() -> None:
    (run,) = upcoming(
        define("Asia/Kolkata", cron=("30 2 * * *",)), moment(datetime.fromisoformat("2027-03-01T00:00Z")), 1
    )
    assert (run.local, run.utc) == ("Tue 2027-03-02 02:30:00 +0530", "2027-03-01 21:00:00Z")


def test_a_time_that_does_not_exist() -> None:
    told = remarks(define(cron=("30 2 * * *",)), "2027-03-27T00:00+01:00", 3)
    assert told == [
        (),
        (
            "the clocks go forward by 1 h on 2027-03-28, after 01:59",
            "its time does not exist that day: it runs when the gap ends",
        ),
        (),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("30 2 * * *", ["it runs at the first only"]),
        ("*/30 2 * * *", ["this is the first", "this is the first", "this is the second", "this is the second"]),
    ],
)
def test_a_time_that_comes_twice(text: str, words: list[str]) -> None:
    told = remarks(define(cron=(text,)), "2027-10-31T00:00+02:00", len(words))
    assert [run[-1] for run in told] == [f"this time comes twice: {word}" for word in words]


def test_half_an_hour_is_told_as_that() -> None:
    told = remarks(define("Australia/Lord_Howe", cron=("0 12 * * *",)), "2027-10-02T13:00+10:30", 1)
    assert told == [("the clocks go forward by 30 min on 2027-10-03, after 01:59",)]


def test_the_next_change_of_the_clocks_is_told_however_far_it_is() -> None:
    found = at_change(define(cron=("30 2 * * *",)), moment(datetime.fromisoformat("2026-12-01T00:00Z")))
    assert found is not None
    assert (found.local, len(found.remarks)) == ("Sun 2027-03-28 03:00:00 +0200", 2)
    assert at_change(define("Asia/Kolkata", cron=("30 2 * * *",)), 10**12) is None


def test_how_many_are_excluded_in_between() -> None:
    told = remarks(define(cron=("0 12 * * *",), exclude=("2027-05-02/2027-05-04",)), "2027-05-01T13:00+02:00", 2)
    assert told == [("3 excluded before it",), ()]


def test_the_shortest_gap_is_found_where_the_clocks_change() -> None:
    """From half past two on the day before to the end of the gap it is half an hour less; the next is as much more."""
    calendar = define(cron=("30 2 * * *",)).calendar
    assert shortest_gap_ms(calendar, moment(datetime.fromisoformat("2027-01-01T00:00Z"))) == 23.5 * HOUR
    assert shortest_gap_ms(define(at_ms=(HOUR,)).calendar, 0) == 0


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({}, ""),
        ({"deadline_ms": HOUR}, ""),
        ({"deadline_ms": HOUR, "jitter_ms": 60_000}, "a deadline of 1 h with a jitter of 1 min, longer than"),
        ({"deadline_ms": 2 * HOUR}, "has a deadline of 2 h, longer than the shortest time between two runs, 1 h"),
    ],
)
def test_a_deadline_that_reaches_into_the_next_run(more: dict[str, int], told: str) -> None:
    found = too_long(define(cron=("0 * * * *",), **more), 0)
    assert told in found
    assert bool(told) == bool(found)
