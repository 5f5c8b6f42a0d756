"""What people and timers ask of a schedule: a run now, past occurrences, the one that is due."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from koala import keys
from koala.errors import KoalaError, Refused
from koala.schedules import policy, record
from koala.schedules.definition import occurrence
from koala.schedules.fire import KEEP_DAYS, Step, step
from koala.schedules.state import Decision, Run, State, Status
from koala.store import Store

TRIES = 5
"""How often a decision is made again because somebody else changed the schedule in between."""

Decide = Callable[[State, int], Decision]


def _retried(store: Store, name: str, decide: Decide, keep_days: float) -> Step:
    """Read, decide, carry out; again when somebody else came in between."""
    for _ in range(TRIES):
        seen, state = record.look(store, name)
        made = step(store, seen, state, decide(state, seen.now_ms), keep_days)
        if made is not None:
            return made
    raise Refused(f"schedule {name} keeps changing: try again")


def run_now(store: Store, name: str, *, anyway: bool = False) -> str:
    """Start a run that is no occurrence; its task's id. Works in every status but counts as a run like any other.

    Raises NotFound, and Refused when an earlier run has not ended, unless overlap allows it or `anyway`.
    """

    def decide(state: State, now: int) -> Decision:
        allowed = anyway or state.definition.overlap == "allow"
        if state.running and not allowed:
            raise Refused(f"its run {_listed(state.running)} has not ended: wait for it, or add --anyway")
        return policy.by_hand(state, now)

    return _retried(store, name, decide, KEEP_DAYS).task


def _listed(runs: Sequence[Run]) -> str:
    return ", ".join(run.task_id for run in runs[:3])


def backfill(store: Store, name: str, low: int, high: int, most: int) -> list[int]:
    """Let the planned times in [low, high] that have no task yet wait for their turn; which. Raises Refused.

    They start one after another, or all at once where overlap allows that, before nothing that is due.
    """
    asked: list[int] = []

    def decide(state: State, now: int) -> Decision:
        if state.status not in (Status.ON, Status.OVER):
            raise Refused(f"schedule {name} is {state.status}: nothing of it starts before it is enabled or resumed")
        if high > now:
            raise Refused("a backfill is for times that are over")
        planned = state.definition.calendar.first(low - 1, high, most + 1)
        if len(planned) > most:
            raise Refused(f"more than {most} are planned between those times: choose a shorter stretch, or --most")
        known = {item.planned_ms for item in state.waiting}
        asked[:] = [at for at in _without_task(store, name, planned) if at not in known]
        return policy.ask_for(state, asked, now)

    _retried(store, name, decide, KEEP_DAYS)
    return asked


def _without_task(store: Store, name: str, planned: Sequence[int]) -> list[int]:
    tasks_ = task_ids(store, name, planned)
    return [at for at in planned if at not in tasks_]


def task_ids(store: Store, name: str, planned: Sequence[int]) -> dict[int, str]:
    """The tasks of those occurrences that have one. One round trip."""
    pipe = store.client.pipeline(transaction=False)
    for at in planned:
        pipe.get(keys.dedupe(occurrence(name, at)))
    return {at: str(id_) for at, id_ in zip(planned, pipe.execute() if planned else (), strict=True) if id_}


class NotDue(KoalaError):
    """No occurrence of the schedule is due; the text says why."""

    code = "not_due"


def take(store: Store, name: str, planned: int = 0, keep_days: float = KEEP_DAYS) -> str:
    """The task of the latest due occurrence, or of that one, whoever made it; made here when nobody has.

    Raises NotFound; Refused for a schedule that is off, and for a time that is not planned; NotDue when there is
    nothing to run: it is paused, nothing is due since it was enabled, or its policy left the occurrence out.
    """
    for _ in range(TRIES):
        seen, state = record.look(store, name)
        if state.restored and state.status is Status.ON:
            step(store, seen, state, policy.decide(state, seen.now_ms), keep_days)
            continue
        wanted = _wanted(state, seen.now_ms, planned)
        known = task_ids(store, name, [wanted]).get(wanted)
        if known:
            return known
        _check_open(state, wanted, asked=bool(planned))
        made = step(store, seen, state, policy.one(state, wanted, seen.now_ms), keep_days)
        if made and (made.decision.start or wanted not in {item.planned_ms for item in made.decision.waiting}):
            return _taken(store, name, wanted)
    raise NotDue(f"schedule {name} keeps changing")


def _wanted(state: State, now: int, planned: int) -> int:
    calendar = state.definition.calendar
    if planned:
        if not calendar.plans(planned):
            raise Refused("the schedule plans no run at that time: `koala schedule preview` shows when it does")
        if planned > now:
            raise Refused("that time has not come yet")
        return planned
    found = calendar.last(max(0, now - state.definition.window_ms), now, 1)
    if not found:
        raise NotDue("nothing was planned lately")
    return found[0]


def _check_open(state: State, wanted: int, *, asked: bool) -> None:
    if state.status is Status.OFF:
        raise Refused(f"schedule {state.name} is off: `koala schedule enable {state.name}`")
    if state.status is Status.PAUSED:
        raise NotDue(f"schedule {state.name} is paused: {state.note or 'no note'}")
    if wanted <= state.cursor_ms and not asked:
        raise NotDue("its latest occurrence was decided before, or was planned before it was enabled")


def _taken(store: Store, name: str, wanted: int) -> str:
    found = task_ids(store, name, [wanted]).get(wanted)
    if not found:
        raise NotDue("an earlier run has not ended: by its policy for overlaps this occurrence does not start now")
    return found
