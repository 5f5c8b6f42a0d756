"""What a schedule is going to do, in words: its next runs, and what the clocks do to them. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice, pairwise
from zoneinfo import ZoneInfo

from koala.schedules.calendar import Calendar
from koala.schedules.definition import Definition
from koala.schedules.zones import DAY_MS, aware, change, first, offset_ms, twice, wall
from koala.span import span

LOOKED_AT = 1000
AHEAD_MS = 400 * DAY_MS


@dataclass(frozen=True)
class Planned:
    """One planned run. `remarks` are what is unusual about it."""

    at_ms: int
    local: str
    utc: str
    remarks: tuple[str, ...] = ()


def upcoming(definition: Definition, after: int, number: int) -> list[Planned]:
    """The next planned runs after a moment."""
    calendar, found, before = definition.calendar, list[Planned](), after
    for at in islice(calendar.moments(after), number):
        found.append(_planned(definition, before, at))
        before = at
    return found


def _planned(definition: Definition, before: int, at: int) -> Planned:
    here = definition.calendar.zone
    remarks = (*_excluded(definition.calendar, before, at), *_clocks(here, before, at), *_itself(definition, at))
    return Planned(at, local(at, here), f"{aware(at, ZoneInfo('UTC')):%Y-%m-%d %H:%M:%S}Z", remarks)


def at_change(definition: Definition, after: int) -> Planned | None:
    """The first run at or after the next change of the clocks within a year; None when there is none."""
    calendar = definition.calendar
    moment = change(calendar.zone, after, after + AHEAD_MS)
    at = calendar.after(moment - 1) if moment is not None else None
    if moment is None or at is None:
        return None
    before = calendar.last(after, moment - 1, 1)
    return _planned(definition, before[-1] if before else after, at)


def local(at: int, here: ZoneInfo) -> str:
    """A moment on the zone's clocks, with how far they are ahead of UTC."""
    return f"{aware(at, here):%a %Y-%m-%d %H:%M:%S %z}"


def _excluded(calendar: Calendar, before: int, at: int) -> list[str]:
    if not (calendar.stretches or calendar.except_crons):
        return []
    number = replace(calendar, stretches=(), except_crons=()).count(before, at) - 1
    return [f"{number} excluded before it"] if number > 0 else []


def _clocks(here: ZoneInfo, before: int, at: int) -> list[str]:
    """Each change of the clocks since the run before."""
    told: list[str] = []
    low = before
    while (moment := change(here, low, at)) is not None and len(told) < 4:
        moved = offset_ms(moment, here) - offset_ms(moment - 1000, here)
        way = "forward" if moved > 0 else "back"
        shown = wall(moment - 1000, here).replace(second=0)
        told.append(f"the clocks go {way} by {_short(abs(moved))} on {shown:%Y-%m-%d}, after {shown:%H:%M}")
        low = moment
    return told


def _itself(definition: Definition, at: int) -> list[str]:
    """What the change of the clocks does to this very run."""
    calendar = definition.calendar
    here, shown = calendar.zone, wall(at, calendar.zone)
    if not calendar.crons:
        return []
    if change(here, at - 1000, at) == at and not any(cron.matches(shown) for cron in calendar.crons):
        return ["its time does not exist that day: it runs when the gap ends"]
    if not twice(shown, here):
        return []
    if first(shown, here) != at:
        return ["this time comes twice: this is the second"]
    named = all(cron.named for cron in calendar.crons if cron.matches(shown))
    return ["this time comes twice: it runs at the first only" if named else "this time comes twice: this is the first"]


def _short(ms: int) -> str:
    """Whole units only, `30 min`."""
    return span(ms).replace(" 0 s", "").replace(" 0 min", "")


def shortest_gap_ms(calendar: Calendar, now: int) -> int:
    """The shortest time between two of the next planned runs, also around changes of the clocks; 0 when one is left."""
    edge = now + AHEAD_MS
    moments = calendar.first(now, edge, LOOKED_AT)
    low, gaps = now, [later - earlier for earlier, later in pairwise(moments)]
    while (moment := change(calendar.zone, low, edge)) is not None:
        around = calendar.first(max(now, moment - 2 * DAY_MS), moment + 2 * DAY_MS, 4 * 24 * 60)
        gaps += [later - earlier for earlier, later in pairwise(around)]
        low = moment
    return min(gaps, default=0)


def too_long(definition: Definition, now: int) -> str:
    """What to say of a deadline that reaches into the next run; empty when none does."""
    gap, reach = shortest_gap_ms(definition.calendar, now), definition.deadline_ms + definition.jitter_ms
    if not (definition.deadline_ms and gap and reach > gap):
        return ""
    jitter = f" with a jitter of {_short(definition.jitter_ms)}" if definition.jitter_ms else ""
    return (
        f"has a deadline of {_short(definition.deadline_ms)}{jitter}, longer than the shortest time between two runs, "
        f"{_short(gap)}: give it a shorter one, or another policy for overlaps"
    )
