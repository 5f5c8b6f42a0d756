"""What the demo found: the figures, the verdict, and the two ways in which they are told."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from demo import plan, story
from demo.plan import Work
from koala.tasks import Task
from koala.timeline import Event

REFUSED = "stale_write_refused"
"""The worker's log line about a write that the store refused since the attempt's lease had ended."""


@dataclass(frozen=True)
class Recovery:
    """One fault, and the seconds until work had gone on for everyone it hit. None: it never came to that."""

    fault: str
    seconds: float | None
    did: str = ""


@dataclass(frozen=True)
class Stuck:
    """A task that is not done when the demo ends."""

    label: str
    status: str
    why: str


@dataclass(frozen=True)
class Report:
    """The outcome of one demo."""

    tasks: int
    succeeded: int
    orders: int
    duplicates: int
    lost: int
    logins_lost: int
    stale_writes_refused: int
    recoveries: Sequence[Recovery]
    found_happened: int = 0
    found_absent: int = 0
    took_s: float = 0.0
    stuck: Sequence[Stuck] = ()
    mishaps: Sequence[str] = ()
    """What went wrong with the demo itself: it was cut short, or left something running."""

    @property
    def problems(self) -> list[str]:
        """Why this demo has failed, a sentence each; empty when it has not."""
        return [
            *self.mishaps,
            *_counted(self.duplicates, "order was", "orders were", "doubled at the shop"),
            *_counted(self.lost, "task was", "tasks were", "lost or not done"),
            *_counted(self.logins_lost, "login was", "logins were", "lost"),
            *[f"the {one.fault} never hit an attempt in work" for one in self.recoveries if not one.did],
            *[
                f"work did not go on after the {one.fault}"
                for one in self.recoveries
                if one.did and one.seconds is None
            ],
        ]

    @property
    def ok(self) -> bool:
        """Whether nothing was doubled, lost or logged out, and everything was really tried."""
        return not self.problems

    def record(self) -> dict[str, Any]:
        """As JSON. Seconds are null where work did not go on."""
        return {
            "tasks": self.tasks,
            "succeeded": self.succeeded,
            "orders": self.orders,
            "duplicates": self.duplicates,
            "lost": self.lost,
            "logins_lost": self.logins_lost,
            "stale_writes_refused": self.stale_writes_refused,
            "recoveries": [{"fault": one.fault, "seconds": one.seconds} for one in self.recoveries],
            "settings": {"lease_ttl_s": plan.TTL_S, "settle_s": plan.SETTLE_S},
            "took_s": round(self.took_s, 1),
            "problems": self.problems,
        }

    def write(self, path: Path) -> None:
        """Write it as JSON."""
        path.write_text(json.dumps(self.record(), indent=2) + "\n", "utf-8")


def _counted(number: int, one: str, many: str, what: str) -> list[str]:
    return [f"{number} {one if number == 1 else many} {what}"] if number else []


@dataclass(frozen=True)
class Evidence:
    """What a verdict is made from."""

    works: Sequence[Work]
    tasks: Mapping[str, Task]
    """By label, as they are at the end."""
    events: Mapping[str, Sequence[Event]]
    references: Mapping[str, int]
    """How many orders the shop's book has of each reference."""
    logins: int
    """Logins at the shop after everybody was logged in."""
    refused: int
    recoveries: Sequence[Recovery]
    took_s: float = 0.0
    stuck: Sequence[Stuck] = ()
    mishaps: Sequence[str] = field(default_factory=list)


def judge(evidence: Evidence) -> Report:
    """The figures. A task that says done counts as lost all the same when the shop has no order of it."""
    done = {work.label for work in evidence.works if _is_done(evidence.tasks.get(work.label))}
    missing = [work for work in evidence.works if work.order and not evidence.references.get(work.order)]
    kept = done - {work.label for work in missing}
    told = [answer for events in evidence.events.values() for answer in story.settled_by_asking(events)]
    gone = sum(story.logins_gone(events) for events in evidence.events.values())
    return Report(
        tasks=len(evidence.works),
        succeeded=len(done),
        orders=sum(evidence.references.values()),
        duplicates=sum(count - 1 for count in evidence.references.values() if count > 1),
        lost=len(evidence.works) - len(kept),
        logins_lost=max(evidence.logins, gone),
        stale_writes_refused=evidence.refused,
        recoveries=evidence.recoveries,
        found_happened=told.count("happened"),
        found_absent=told.count("absent"),
        took_s=evidence.took_s,
        stuck=evidence.stuck,
        mishaps=evidence.mishaps,
    )


def _is_done(task: Task | None) -> bool:
    return task is not None and task.status == "done"


def refused_writes(logs: Path) -> int:
    """How many writes of attempts whose lease had ended the store has refused, by the workers' own logs."""
    mark = f'"{REFUSED}"'
    return sum(path.read_text("utf-8", "replace").count(mark) for path in sorted(logs.glob("worker-*.log")))
