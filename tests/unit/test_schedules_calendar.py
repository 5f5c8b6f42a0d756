"""When schedules are planned to run, against an oracle that walks minute by minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

import pytest
from cronsim import CronSim
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from koala.schedules.calendar import Calendar
from koala.schedules.cron import read
from koala.schedules.errors import InvalidSchedule
from koala.schedules.zones import aware, first, missing, moment, twice, zone
from tests.support.calendar_oracle import Oracle

ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata")
"""Whole hours in both hemispheres' ways, half an hour of daylight saving, and half an hour without any."""
CHANGES = {
    "Europe/Berlin": (datetime(2027, 3, 28, 1, tzinfo=UTC), datetime(2027, 10, 31, 1, tzinfo=UTC)),
    "America/New_York": (datetime(2027, 3, 14, 7, tzinfo=UTC), datetime(2027, 11, 7, 6, tzinfo=UTC)),
    "Australia/Lord_Howe": (datetime(2027, 10, 2, 15, 30, tzinfo=UTC), datetime(2027, 4, 3, 15, tzinfo=UTC)),
    "Asia/Kolkata": (datetime(2027, 1, 1, tzinfo=UTC), datetime(2027, 7, 1, tzinfo=UTC)),
}
"""When the clocks go forward, and back; any two days where they never do."""

minutes = st.sampled_from(["0", "30", "7", "0,30", "15-45/10", "*", "*/15", "*/7"])
hours = st.sampled_from(["0", "1", "2", "3", "1,2", "2-3", "*", "*/2", "0-23/6"])
days = st.sampled_from(["*", "*", "*", "1", "28,31", "*/3"])
weekdays = st.sampled_from(["*", "*", "*", "0", "7", "1-5", "6"])
expressions = st.tuples(minutes, hours, days, st.sampled_from(["*", "*", "3,10", "4-11"]), weekdays).map(" ".join)


def cron(text: str, name: str = "UTC", **more: object) -> Calendar:
    return Calendar(zone(name), (read(text),), **more)  # type: ignore[arg-type]


def near(name: str, which: int, minute: int) -> datetime:
    """A whole minute near a change of the clocks."""
    return CHANGES[name][which] + timedelta(minutes=minute)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions, st.sampled_from(ZONES), st.sampled_from([0, 1]), st.integers(-1500, 300), st.integers(0, 59_999))
@example("*/10 5 * * *", "Australia/Lord_Howe", 0, -60, 0)
@example("0,30 2 * * *", "Europe/Berlin", 0, -200, 0)
@example("15 1 * * *", "America/New_York", 1, 20, 0)
@example("*/15 1 * * *", "Australia/Lord_Howe", 1, -120, 0)
def test_the_planned_times_are_those_of_the_oracle(text: str, name: str, which: int, minute: int, rest: int) -> None:
    """Also when one begins to look in the middle of a minute; each later than the one before."""
    after = near(name, which, minute)
    until = after + timedelta(hours=30)
    expected = [moment(at) for at in Oracle(text, ZoneInfo(name)).moments(after, until)]
    begin = moment(after) + rest
    calendar = cron(text, name)
    found = calendar.first(begin, moment(until), 10_000)
    assert found == [at for at in expected if at > begin]
    assert all(earlier < later for earlier, later in pairwise([begin, *found]))
    assert calendar.last(begin, moment(until), 3) == found[-3:]
    assert all(calendar.plans(at) for at in found[:3])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(expressions, st.sampled_from(ZONES[:2]), st.sampled_from([0, 1]), st.integers(-1500, -1))
def test_where_clocks_change_by_whole_hours_they_are_those_of_cronsim(
    text: str, name: str, which: int, minute: int
) -> None:
    """What cronsim itself plans, each moment once and none in the past."""
    after = near(name, which, minute)
    theirs, last = [], moment(after)
    for at in islice(CronSim(text, after.astimezone(ZoneInfo(name))), 60):
        if moment(at) > last:
            last = moment(at)
            theirs.append(last)
    assert list(islice(cron(text, name).moments(moment(after)), len(theirs))) == theirs


@pytest.mark.parametrize(
    ("name", "text", "on", "shown"),
    [
        # A named time that does not exist runs when the gap ends; one that comes twice, at its first coming.
        ("Europe/Berlin", "30 2 * * *", "2027-03-28", ["03:00+0200"]),
        ("Europe/Berlin", "30 2 * * *", "2027-10-31", ["02:30+0200"]),
        ("America/New_York", "15,45 2 * * *", "2027-03-14", ["03:00-0400"]),
        ("America/New_York", "30 1 * * *", "2027-11-07", ["01:30-0400"]),
        ("Australia/Lord_Howe", "15 2 * * *", "2027-10-03", ["02:30+1100"]),
        ("Australia/Lord_Howe", "45 1 * * *", "2027-04-04", ["01:45+1100"]),
        ("Asia/Kolkata", "30 2 * * *", "2027-03-28", ["02:30+0530"]),
        # What repeats goes with the clock.
        ("Europe/Berlin", "*/30 2 * * *", "2027-03-28", []),
        ("Europe/Berlin", "*/30 2 * * *", "2027-10-31", ["02:00+0200", "02:30+0200", "02:00+0100", "02:30+0100"]),
        ("Australia/Lord_Howe", "*/15 2 * * *", "2027-10-03", ["02:30+1100", "02:45+1100"]),
        (
            "Australia/Lord_Howe",
            "*/15 1 * * *",
            "2027-04-04",
            ["01:00+1100", "01:15+1100", "01:30+1100", "01:45+1100", "01:30+1030", "01:45+1030"],
        ),
    ],
)
def test_the_day_of_a_change(name: str, text: str, on: str, shown: list[str]) -> None:
    here = zone(name)
    begin = datetime.fromisoformat(on)
    low, high = first(begin, here), first(begin + timedelta(days=1), here)
    assert [f"{aware(at, here):%H:%M%z}" for at in cron(text, name).first(low - 1, high - 1, 99)] == shown


def test_wall_times_that_never_come_and_that_come_twice() -> None:
    here = zone("Australia/Lord_Howe")
    gap, fold = datetime(2027, 10, 3, 2, 10), datetime(2027, 4, 4, 1, 40)  # noqa: DTZ001 - what a wall shows
    assert (missing(gap, here), twice(gap, here)) == (True, False)
    assert (missing(fold, here), twice(fold, here)) == (False, True)
    assert aware(first(gap, here), here).isoformat() == "2027-10-03T02:30:00+11:00"
    assert aware(first(fold, here), here).isoformat() == "2027-04-04T01:40:00+11:00"


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(1, 90_000), st.integers(0, 10**9), st.integers(10**9, 2 * 10**9), st.integers(0, 999))
def test_intervals_keep_to_their_anchor(every_s: int, anchor_s: int, now_s: int, rest: int) -> None:
    calendar = Calendar(zone("Asia/Kolkata"), every_ms=every_s * 1000, anchor_ms=anchor_s * 1000)
    after = now_s * 1000 + rest
    found = list(islice(calendar.moments(after), 3))
    assert all((at - anchor_s * 1000) % (every_s * 1000) == 0 for at in found)
    assert 0 < found[0] - after <= every_s * 1000
    assert [later - earlier for earlier, later in pairwise(found)] == [every_s * 1000] * 2


def test_several_expressions_are_one_calendar_in_which_each_time_is_there_once() -> None:
    calendar = Calendar(zone("UTC"), (read("0 12 * * *"), read("0 */6 * * *")))
    shown = [f"{aware(at, zone('UTC')):%H}" for at in islice(calendar.moments(0), 5)]
    assert shown == ["06", "12", "18", "00", "06"]


def test_start_and_end_are_part_of_it() -> None:
    hour = 3_600_000
    calendar = cron("0 * * * *", start_ms=5 * hour, end_ms=7 * hour)
    assert list(calendar.moments(0)) == [5 * hour, 6 * hour, 7 * hour]
    assert calendar.after(7 * hour) is None


def test_what_is_excluded_is_not_planned() -> None:
    day = 86_400_000
    calendar = cron("0 */12 * * *", stretches=((day, 3 * day),), except_crons=(read("* 12 * * *"),))
    assert list(islice(calendar.moments(0), 3)) == [3 * day, 4 * day, 5 * day]
    assert calendar.count(0, 3 * day - 1) == 0


def test_a_calendar_that_excludes_all_it_plans_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("koala.schedules.calendar.EXCLUDED_MOST", 50)
    assert cron("0 12 * * *", except_crons=(read("* * * * *"),)).after(0) is None


def test_long_exclusions_are_jumped_over() -> None:
    """A month of minutes, by its days."""
    calendar = cron("* * * * *", "Australia/Lord_Howe", except_crons=(read("* * * 10 *"),))
    begin = moment(datetime.fromisoformat("2027-09-30T23:59:30+10:30"))
    assert aware(calendar.after(begin) or 0, calendar.zone).isoformat() == "2027-11-01T00:00:00+11:00"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("* * * *", "4 fields instead of minute, hour, day, month and weekday"),
        ("0 * * * * *", "6 fields"),
        ("61 * * * *", "bad minute"),
        ("0 0 31 2 *", "bad day-of-month"),
        ("0 0 * * MOO", "bad day-of-week"),
        ("* * */20 * 1L", "never comes"),
        ("@reboot", "1 fields"),
    ],
)
def test_a_wrong_expression_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(InvalidSchedule, match=why):
        read(text)


def test_short_forms() -> None:
    assert cron("@daily", "Europe/Berlin").after(0) == cron("0 0 * * *", "Europe/Berlin").after(0)


def test_an_unknown_zone_is_told_with_what_was_perhaps_meant() -> None:
    with pytest.raises(InvalidSchedule, match="did you mean Europe/Berlin"):
        zone("europe/berlin ".strip() + "x")
    with pytest.raises(InvalidSchedule, match="install tzdata"):
        zone("Nowhere/Nothing")


def test_a_machine_without_zones_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoneinfo.available_timezones", set)
    zone.cache_clear()
    with pytest.raises(InvalidSchedule, match="no time zones: install tzdata"):
        zone("Nowhere/Else")
