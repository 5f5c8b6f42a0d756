"""What is made up for, of the occurrences that are planned since the schedule was last looked at. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from koala.schedules.definition import CatchUp, Definition, Order
from koala.schedules.state import Outcome, Skipped, Waiting

Chosen = tuple[list[Waiting], list[Skipped]]


def choose(definition: Definition, cursor: int, now: int) -> Chosen:
    """What is to be run of the occurrences in (cursor, now], in this order, and what is not.

    On time is what is looked at within `grace` of its plan; everything else was missed.
    """
    late = definition.grace_ms if definition.catch_up is CatchUp.SKIP else _window(definition)
    edge = max(cursor, now - late - 1)
    too_old = Outcome.CATCH_UP if definition.catch_up is CatchUp.SKIP else Outcome.WINDOW
    taken = _taken(definition, edge, now)
    skipped = [
        *_skipped(definition, too_old, cursor, edge),
        *_left_out(definition, taken, edge, now),
    ]
    return [Waiting(at) for at in taken], skipped


def _window(definition: Definition) -> int:
    return max(definition.window_ms, definition.grace_ms)


def _taken(definition: Definition, edge: int, now: int) -> list[int]:
    calendar, most = definition.calendar, definition.catch_up_max
    if definition.catch_up is CatchUp.LATEST:
        return calendar.last(edge, now, 1)
    if definition.catch_up is CatchUp.SKIP:
        return calendar.last(edge, now, 1000)
    if definition.catch_up_order is Order.NEWEST:
        return calendar.last(edge, now, most)[::-1]
    return calendar.first(edge, now, most)


def _left_out(definition: Definition, taken: Sequence[int], edge: int, now: int) -> list[Skipped]:
    """What lies before and behind the taken ones."""
    if not taken:
        return []
    return [
        *_skipped(definition, Outcome.CATCH_UP, edge, min(taken) - 1),
        *_skipped(definition, Outcome.CATCH_UP, max(taken), now),
    ]


def _skipped(definition: Definition, outcome: Outcome, low: int, high: int) -> list[Skipped]:
    """One record for what is planned in (low, high]; none when nothing is."""
    number = definition.calendar.count(low, high)
    if not number:
        return []
    begin = definition.calendar.first(low, high, 1)[0]
    return [Skipped(outcome, begin, definition.calendar.last(low, high, 1)[0], number)]


def missed(definition: Definition, outcome: Outcome, cursor: int, now: int) -> list[Skipped]:
    """Everything that is planned in (cursor, now], as not run."""
    return _skipped(definition, outcome, cursor, now)
