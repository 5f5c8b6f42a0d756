"""What is stored of a schedule, as read at one instant, and what is decided about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from koala.keys import ENDED
from koala.schedules.definition import Definition

FAILED = frozenset({"failed", "dead", "expired"})
"""How a run ends that counts as a failure. A cancelled one counts as nothing: a person, or the schedule, ended it."""


class Status(StrEnum):
    """What a schedule does."""

    OFF = "off"
    """Not enabled."""
    ON = "on"
    PAUSED = "paused"
    """Held by a person, or by its own failures; the note says why."""
    OVER = "over"
    """Enabled, and no planned time is left."""

    @property
    def code(self) -> int:
        """Its score in the index of all schedules."""
        return list(Status).index(self)


class Outcome(StrEnum):
    """What became of occurrences: the closed list."""

    STARTED = "started"
    """It became a task."""
    KNOWN = "known"
    """It had a task already, made in another way."""
    OVERLAP = "overlap"
    """Not run: an earlier run had not ended, or too many waited."""
    CATCH_UP = "catch_up"
    """Not run: missed, and the policy does not make up for it."""
    WINDOW = "window"
    """Not run: missed longer ago than is made up for."""
    HELD = "held"
    """Not run: the schedule was paused or off."""
    EDITED = "edited"
    """Not run: undecided when the schedule was changed."""
    RESTORED = "restored"
    """Not run: planned between a backup and its restore, where nobody knows what has run."""


class Waiting(NamedTuple):
    """An occurrence that waits for its turn; `asked` by a person, by a backfill."""

    planned_ms: int
    asked: bool = False


@dataclass(frozen=True)
class Run:
    """A run that had not ended when it was last looked at. `status` is its task's, empty when that is forgotten."""

    task_id: str
    planned_ms: int
    status: str = ""

    @property
    def ended(self) -> bool:
        """Whether it has ended; a forgotten task had."""
        return self.status in ENDED or not self.status


@dataclass(frozen=True)
class Skipped:
    """Occurrences in [from, to] that are not run. A count of `calendar.COUNTED_MOST` stands for that many or more."""

    outcome: Outcome
    from_ms: int
    to_ms: int
    count: int = 1


@dataclass(frozen=True)
class State:
    """A schedule's record. `turn` grows with each change: who decides names the turn that it has seen."""

    definition: Definition
    revision: int = 1
    turn: int = 1
    status: Status = Status.OFF
    note: str = ""
    by: str = ""
    since_ms: int = 0
    cursor_ms: int = 0
    """The last moment that has been considered: what was planned until then is decided."""
    next_ms: int = 0
    """When it is looked at next; 0: not before a person changes something."""
    failures: int = 0
    """Runs in a row that failed, up to the last one that was seen to end."""
    last_ms: int = 0
    """When a run was last started."""
    waiting: tuple[Waiting, ...] = ()
    runs: tuple[Run, ...] = ()
    restored: bool = False
    """Whether the store was restored since it was last considered."""

    @property
    def name(self) -> str:
        """Its name."""
        return self.definition.name

    @property
    def running(self) -> tuple[Run, ...]:
        """The runs that have not ended."""
        return tuple(run for run in self.runs if not run.ended)


@dataclass(frozen=True)
class Decision:
    """What a schedule's record becomes, and the one occurrence that becomes a task with it."""

    cursor_ms: int
    status: Status
    note: str
    failures: int
    waiting: tuple[Waiting, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    start: Waiting | None = None
    next_ms: int = 0
    cancel: tuple[str, ...] = ()
    """Running tasks to be cancelled, once this is stored."""
    by_hand: bool = False
    """`start` is no occurrence, but a run that a person asked for."""
