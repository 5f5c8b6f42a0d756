"""Which of the waiting occurrences starts, which wait on, and which are dropped. Pure.

What an earlier run does is read from its task's record; how long ago it began says nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from koala.schedules.definition import Overlap
from koala.schedules.state import Waiting


class Admitted(NamedTuple):
    """The next one to start, if any; what waits on; what is dropped."""

    start: Waiting | None
    waiting: tuple[Waiting, ...]
    dropped: tuple[Waiting, ...]


def admit(overlap: Overlap, most: int, waiting: Sequence[Waiting], running: int) -> Admitted:
    """Decide by policy, `running` being the number of runs that have not ended.

    Occurrences that a person asked for (a backfill) go behind the others and always wait for their turn.
    """
    asked = tuple(item for item in waiting if item.asked)
    own = tuple(item for item in waiting if not item.asked)
    if overlap is Overlap.CANCEL_RUNNING and own:  # each would cancel the one before
        newest = max(own)
        dropped: tuple[Waiting, ...] = tuple(item for item in own if item != newest)
        own = (newest,)
    else:
        dropped = ()
    room = running < most if overlap is Overlap.ALLOW else not running
    line = (*own, *asked)
    start = line[0] if room and line else None
    own = own[1:] if start and own else own
    asked = asked[1:] if start and start.asked else asked
    keep = _places(overlap, most, room=room)
    return Admitted(start, (*own[:keep], *asked), (*dropped, *own[keep:]))


def _places(overlap: Overlap, most: int, *, room: bool) -> int:
    """How many occurrences may wait for an earlier run."""
    if overlap is Overlap.ALLOW:
        return most if room else 0
    return {Overlap.FORBID: 0, Overlap.QUEUE_ALL: most}.get(overlap, 1)
