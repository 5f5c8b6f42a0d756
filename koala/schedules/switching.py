"""Turning schedules on and off, holding them, and giving them other definitions."""

from __future__ import annotations

from collections.abc import Callable

from koala.errors import Refused
from koala.schedules import catch_up, record
from koala.schedules.definition import Definition, Overlap
from koala.schedules.errors import InvalidSchedule
from koala.schedules.preview import too_long
from koala.schedules.record import Put, Seen
from koala.schedules.state import Outcome, Skipped, State, Status
from koala.store import Store

TRIES = 5


def apply(store: Store, definition: Definition, who: str) -> Put:
    """Make a schedule, off, or change one; atomic. What it had planned until now and not decided is left out."""
    for _ in range(TRIES):
        seen = record.see(store, [definition.name])
        turn = seen[0].turn if seen else 0
        done = record.put(store, definition, turn, who, _undecided(store, seen))
        if done:
            return done
    raise _changing(definition.name)


def _undecided(store: Store, seen: list[Seen]) -> list[Skipped]:
    """What was planned until now and nobody has looked at; nothing where that cannot be told."""
    try:
        states = record.states(store, seen)
        return [item for state in states for item in _planned_until(state, seen[0].now_ms, Outcome.EDITED)]
    except InvalidSchedule:  # a definition that is not understood here: it is being replaced
        return []


def _planned_until(state: State, now: int, outcome: Outcome) -> list[Skipped]:
    """What is left out by moving the cursor to now: of a held schedule as held."""
    if state.status not in (Status.ON, Status.PAUSED):
        return []
    outcome = Outcome.HELD if state.status is Status.PAUSED else outcome
    try:
        return catch_up.missed(state.definition, outcome, state.cursor_ms, now)
    except InvalidSchedule:  # a zone that this machine does not know must not keep anybody from turning it off
        return []


def enable(store: Store, name: str, who: str) -> bool:
    """Turn it on, from now on; False when it was on. Raises NotFound, and Refused with what speaks against it.

    One whose cursor is ahead of the store's clock, which has been put back, begins anew with the clock.
    """
    return _set(store, name, Status.ON, who, check=_may_run, from_=(Status.OFF, Status.PAUSED, Status.OVER))


def disable(store: Store, name: str, who: str, why: str = "") -> bool:
    """Turn it off: what waits for its turn is given up, what runs goes on. False when it was off."""
    return _set(store, name, Status.OFF, who, why, from_=(Status.ON, Status.PAUSED, Status.OVER), drop=True)


def pause(store: Store, name: str, who: str, why: str = "") -> bool:
    """Hold it: what waits for its turn keeps it. False when it was held. Raises Refused when it is off."""
    return _set(store, name, Status.PAUSED, who, why, from_=(Status.ON, Status.OVER), check=_is_on)


def resume(store: Store, name: str, who: str) -> bool:
    """Go on, with what is planned from now on; False when it was not held. Raises Refused when it is off."""
    return _set(store, name, Status.ON, who, from_=(Status.PAUSED,), check=_is_on)


def _set(
    store: Store, name: str, status: Status, who: str, why: str = "", *, from_: tuple[Status, ...],
    check: Callable[[State, int], str] | None = None, drop: bool = False,
) -> bool:  # fmt: skip
    for _ in range(TRIES):
        seen, state = record.look(store, name)
        refusal = check(state, seen.now_ms) if check else ""
        if refusal:
            raise Refused(f"schedule {name} {refusal}")
        ahead = status is Status.ON and state.status is Status.ON and state.cursor_ms > seen.now_ms
        if state.status not in from_ and not ahead:
            return False
        left_out = _left_out(state, seen.now_ms, drop=drop) if status is not Status.PAUSED else []
        if record.set_status(store, seen, status, who, why, skipped=left_out, drop=drop):
            return True
    raise _changing(name)


def _left_out(state: State, now: int, *, drop: bool) -> list[Skipped]:
    """What a change leaves out: planned and undecided until now, and what waits where that is dropped."""
    waiting = state.waiting if drop else ()
    dropped = [Skipped(Outcome.HELD, item.planned_ms, item.planned_ms) for item in waiting]
    return _planned_until(state, now, Outcome.HELD) + dropped


def _is_on(state: State, now: int) -> str:
    return f"is off: `koala schedule enable {state.name}`" if state.status is Status.OFF else ""


def _may_run(state: State, now: int) -> str:
    if state.definition.calendar.after(now) is None:
        return "has no planned time left: change its end, or its time"
    return forbidden(state.definition, now)


def forbidden(definition: Definition, now: int) -> str:
    """Why such a definition may not be on; empty when it may."""
    return too_long(definition, now) if definition.overlap is Overlap.FORBID else ""


def _changing(name: str) -> Refused:
    return Refused(f"schedule {name} keeps changing: try again")
