"""Deciding about one schedule: pure, from its record and the store's time alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from koala.schedules import catch_up
from koala.schedules.definition import Overlap
from koala.schedules.overlap import admit
from koala.schedules.state import FAILED, Decision, Outcome, Run, Skipped, State, Status, Waiting

QUEUE_MS = (1_000, 15_000)
"""How soon a schedule whose occurrences wait is looked at again: at first, and at the most."""
WATCH_MS = (2_000, 600_000)
"""The same for one that only wants to know how its runs end."""


def decide(state: State, now: int) -> Decision:
    """What is to be done at `now`. It starts one occurrence at most: ask again while `next_ms` is not after `now`."""
    failures = _failures(state)
    same = Decision(state.cursor_ms, state.status, state.note, failures, state.waiting)
    if state.status is not Status.ON:
        return same
    if state.restored:
        skipped = catch_up.missed(state.definition, Outcome.RESTORED, state.cursor_ms, now)
        return _with_next(state, replace(same, cursor_ms=max(now, state.cursor_ms), skipped=tuple(skipped)), now)
    if 0 < state.definition.pause_after <= failures:
        return replace(same, status=Status.PAUSED, note=_why(failures, state))
    return _with_next(state, _considered(state, same, now), now)


def _considered(state: State, same: Decision, now: int) -> Decision:
    """What is due is chosen, and the first of those that may start is started."""
    chosen, skipped = catch_up.choose(state.definition, state.cursor_ms, now) if now > state.cursor_ms else ([], [])
    return _admitted(state, replace(same, cursor_ms=max(now, state.cursor_ms)), chosen, skipped)


def _admitted(state: State, made: Decision, chosen: Sequence[Waiting], skipped: Sequence[Skipped]) -> Decision:
    """The policy for overlaps over what waited before and what was chosen now."""
    definition, running = state.definition, state.running
    got = admit(definition.overlap, definition.overlap_max, (*state.waiting, *chosen), len(running))
    dropped = (Skipped(Outcome.OVERLAP, item.planned_ms, item.planned_ms) for item in got.dropped)
    cancels = definition.overlap is Overlap.CANCEL_RUNNING and any(not item.asked for item in got.waiting)
    return replace(
        made,
        waiting=got.waiting,
        skipped=(*skipped, *dropped),
        start=got.start,
        cancel=tuple(run.task_id for run in running) if cancels else (),
    )


def _with_next(state: State, made: Decision, now: int) -> Decision:
    """When something has to be decided again."""
    planned = state.definition.calendar.after(made.cursor_ms)
    again = _again(state, made, now)
    moments = [moment for moment in (planned, again) if moment is not None]
    if not moments:
        return replace(made, status=Status.OVER)
    return replace(made, next_ms=min(moments))


def _again(state: State, made: Decision, now: int) -> int | None:
    """When to look how the runs are; None when nothing depends on it."""
    running = len(state.running) + bool(made.start)
    if made.waiting:
        room = not running or (state.definition.overlap is Overlap.ALLOW and running < state.definition.overlap_max)
        return now if room else now + _pace(now - (now if made.start else state.last_ms), 8, QUEUE_MS)
    if running and state.definition.pause_after:
        return now + _pace(now - (now if made.start else state.last_ms), 2, WATCH_MS)
    return None


def _pace(elapsed: int, part: int, bounds: tuple[int, int]) -> int:
    return min(max(elapsed // part, bounds[0]), bounds[1])


def _failures(state: State) -> int:
    """Failures in a row, with the runs that have ended since."""
    count = state.failures
    for run in sorted((run for run in state.runs if run.ended), key=_planned):
        if run.status in FAILED:
            count += 1
        elif run.status == "done":
            count = 0
    return count


def _planned(run: Run) -> tuple[int, str]:
    return run.planned_ms, run.task_id


def _why(failures: int, state: State) -> str:
    last = max((run for run in state.runs if run.ended and run.status in FAILED), key=_planned, default=None)
    told = f", last {last.task_id} ({last.status})" if last else ""
    return f"{failures} runs in a row failed{told}"


def ask_for(state: State, planned: list[int], now: int) -> Decision:
    """A backfill: these occurrences wait for their turn, oldest first; one that is over goes on for them."""
    waiting = (*state.waiting, *(Waiting(at, asked=True) for at in sorted(planned)))
    return Decision(state.cursor_ms, _open(state), state.note, _failures(state), waiting, next_ms=now)


def by_hand(state: State, now: int) -> Decision:
    """A run now, which is no occurrence; everything else stays."""
    start = Waiting(now, asked=True)
    made = Decision(state.cursor_ms, state.status, state.note, _failures(state), state.waiting, by_hand=True)
    return replace(made, start=start, next_ms=state.next_ms)


def one(state: State, planned: int, now: int) -> Decision:
    """`decide` as if this occurrence alone were due: somebody else, a timer, has said that it is time.

    Everything planned before it that nobody has considered counts as missed, and is left out.
    """
    same = Decision(max(planned, state.cursor_ms), _open(state), state.note, _failures(state), state.waiting)
    missed = catch_up.missed(state.definition, Outcome.CATCH_UP, state.cursor_ms, planned - 1)
    return _with_next(state, _admitted(state, same, [Waiting(planned)], missed), now)


def _open(state: State) -> Status:
    """What becomes of a status when there is something to run again."""
    return Status.ON if state.status is Status.OVER else state.status
