"""Reading the timeline of a task: how far its attempt is, and when work went on after a fault."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from koala.timeline import Event


class Moment(StrEnum):
    """How far an attempt is, as a person would say it."""

    STARTING = "just starting"
    LOOKING = "looking at the price"
    ORDERING = "about to order"
    ORDERED = "order sent, no answer yet"
    CLOSING = "ordered"


BEGUN = {"step_started": Moment.LOOKING, "effect_sent": Moment.ORDERING, "effect_happened": Moment.CLOSING}


def moment(events: Sequence[Event]) -> Moment:
    """How far the last attempt is. That an order has gone out only the shop knows."""
    found = Moment.STARTING
    for event in events:
        if event.action == "attempt_started":
            found = Moment.STARTING
        found = BEGUN.get(event.action, found)
    return found


class Attempt(NamedTuple):
    """One attempt in a timeline. `outcome` is empty while nobody has ended it."""

    fence: str
    started_ms: int
    outcome: str
    why: str
    did_something: bool


def attempts(events: Sequence[Event]) -> list[Attempt]:
    """A task's attempts, oldest first."""
    return list(_attempts(events))


def _attempts(events: Sequence[Event]) -> Iterator[Attempt]:
    begins = [number for number, event in enumerate(events) if event.action == "attempt_started"]
    for number, end in pairwise([*begins, len(events)]):
        started, own = events[number], events[number + 1 : end]
        ends = [event for event in own if event.action in ("attempt_ended", "attempt_lost")]
        outcome = str(ends[0].data.get("outcome", "lost")) if ends else ""
        why = str(ends[0].data.get("why", "")) if ends else ""
        did = any(event.action not in ("attempt_ended", "attempt_lost", "attempt_gone") for event in own)
        yield Attempt(str(started.data["fence"]), started.at_ms, outcome, why, did)


def resumed_ms(events: Sequence[Event], fence: str, since_ms: int) -> int | None:
    """When the attempt began that work went on with after a fault under this fence; None before.

    One that was sent away because the old holder still lived does not count, nor one that may still be.
    """
    for attempt in attempts(events):
        later = attempt.fence != fence and attempt.started_ms >= since_ms
        known = attempt.did_something or attempt.outcome
        if later and known and not attempt.why.startswith("old holder alive"):
            return attempt.started_ms
    return None


def new_tab_ms(events: Sequence[Event], since_ms: int) -> int | None:
    """When an attempt went on with a new tab after its old one had died; None when no tab has."""
    return next((event.at_ms for event in events if event.action == "tab_died" and event.at_ms >= since_ms), None)


def tab_cost_attempt(events: Sequence[Event], fence: str) -> bool:
    """Whether the attempt ended because its tab had died: in the middle of an act nobody goes on blindly."""
    return any(attempt.fence == fence and "tab died" in attempt.why for attempt in attempts(events))


def ended(events: Sequence[Event], fence: str) -> bool:
    """Whether the attempt under this fence has ended."""
    return any(attempt.fence == fence and attempt.outcome for attempt in attempts(events))


def unharmed(events: Sequence[Event], fence: str) -> bool:
    """Whether the attempt under this fence came to its end as if nothing had been."""
    return any(attempt.fence == fence and attempt.outcome == "done" for attempt in attempts(events))


def lost(events: Sequence[Event], fence: str) -> bool:
    """Whether the attempt's lease has run out: the task was taken from it."""
    return any(attempt.fence == fence and attempt.outcome == "lost" for attempt in attempts(events))


def settled_by_asking(events: Sequence[Event]) -> list[str]:
    """What the shop said about acts whose answer never came: `happened` or `absent` for each."""
    asked = [event for event in events if event.data.get("how") == "confirm"]
    return [event.action.removeprefix("effect_") for event in asked if event.action.startswith("effect_")]


def logins_gone(events: Sequence[Event]) -> int:
    """How often the task found itself logged out."""
    return sum(event.action == "log" and event.data.get("text") == "the login is gone" for event in events)
