"""Which containers a roll-out starts and removes next. Pure: from what runs to one batch, wherever it was stopped.

Part of the capacity is always there: with a surge the full number is, without one at least half of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deploy.exits import Exit
from deploy.problem import Problem


@dataclass(frozen=True)
class Member:
    """One container of the service that is rolled out."""

    id: str
    new: bool
    """Whether it has the image that is wanted."""
    up: bool = True
    leaving: bool = False
    """It takes no more work, and ends by itself."""
    weight: int = 0
    """What its end would disturb; the lightest leave first."""


@dataclass(frozen=True)
class Batch:
    """One step: `clear` what does not run, `start` so many new ones, and let those of `leave` end."""

    start: int = 0
    leave: tuple[str, ...] = ()
    clear: tuple[str, ...] = ()
    leave_first: bool = False
    """No room for more: the old ones go before the new ones come."""


@dataclass(frozen=True)
class Pace:
    """How fast a roll-out goes."""

    target: int
    """Containers wanted in the end."""
    size: int
    """Replaced at a time."""
    surge: int
    """Allowed beside the target meanwhile."""


def pace(target: int, batch: int, surge: int, room: int | None) -> Pace:
    """The pace for so many containers. `batch` 0: a quarter of them; `surge` -1: a batch, or what there is room for.

    A single one is always surged: half of it would be nothing.
    """
    size = batch or max(1, -(-target // 4))
    fits = size if room is None else max(0, min(size, room))
    chosen = surge if surge >= 0 else (max(1, fits) if target == 1 else fits)
    return Pace(target, max(1, min(size, target or 1)), chosen)


def next_batch(members: Sequence[Member], pace: Pace) -> Batch | None:
    """What to do next; None when all that runs is new and of the right number.

    Raises Problem where nothing could be replaced without leaving less than half.
    """
    clear = tuple(one.id for one in members if not one.up)
    going = tuple(one.id for one in members if one.up and one.leaving)
    old, new = _staying(members, new=False), _staying(members, new=True)
    surplus = len(old) + len(new) - pace.target
    if surplus > 0:
        chosen = _lightest([*old, *new], surplus) if not old else _lightest(old, surplus)
        return Batch(leave=going + chosen, clear=clear)
    missing = pace.target - len(new)
    if missing <= 0:
        return Batch(leave=going, clear=clear) if going or clear else None
    return _replacing(old, len(new), pace, going, clear)


def _replacing(old: list[Member], new: int, pace: Pace, going: tuple[str, ...], clear: tuple[str, ...]) -> Batch:
    """So many new ones for as many old ones."""
    running = len(old) + new
    wanted = min(pace.size, pace.target - new)
    room = pace.target + pace.surge - running
    if room >= 1:
        start = min(wanted, room)
        return Batch(start, going + _lightest(old, max(0, running + start - pace.target)), clear)
    spare = running - -(-pace.target // 2)
    count = min(wanted, spare, len(old))
    if count < 1:
        raise Problem(
            f"with KOALA_SURGE=0 and {pace.target} running nothing would be left meanwhile",
            "leave KOALA_SURGE unset: one more runs beside it for a minute",
            Exit.REFUSED,
        )
    return Batch(count, going + _lightest(old, count), clear, leave_first=True)


def _staying(members: Sequence[Member], *, new: bool) -> list[Member]:
    return [one for one in members if one.up and not one.leaving and one.new == new]


def _lightest(some: Sequence[Member], count: int) -> tuple[str, ...]:
    return tuple(one.id for one in sorted(some, key=lambda one: one.weight)[:count])


def after(members: Sequence[Member], batch: Batch) -> list[Member]:
    """What runs when a batch has gone well."""
    gone = {*batch.leave, *batch.clear}
    made = [Member(f"new {len(members)}.{number}", new=True) for number in range(batch.start)]
    return [*(replace(one) for one in members if one.id not in gone), *made]


def whole(members: Sequence[Member], pace: Pace) -> list[Batch]:
    """Every batch to come, if each goes well."""
    batches: list[Batch] = []
    now = list(members)
    while batch := next_batch(now, pace):
        batches.append(batch)
        now = after(now, batch)
    return batches
