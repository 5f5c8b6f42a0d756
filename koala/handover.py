"""The hand-over: what may start now goes to RQ, at most as much as idle slots can take."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import redis

from koala import keys, queue
from koala.store import Store
from koala.tasks import Task

EXAMINE = 2000
"""Lanes looked at in one go: the best, and when all of those wait as many of the others, in turn over the calls."""


@dataclass(frozen=True)
class Handed:
    """A task that was handed over: what its delivery is called, and where it goes."""

    task_id: str
    job: int
    work_class: str

    @classmethod
    def last(cls, task: Task) -> Self:
        """The last time that this task was handed over."""
        return cls(task.id, task.jobs, task.class_)

    @property
    def job_id(self) -> str:
        """The delivery's id: one a hand-over, so that pushing twice is one delivery."""
        return f"{self.task_id}-{self.job}"

    @property
    def queue(self) -> str:
        """The queue of its class of work."""
        return keys.queue(self.work_class)


def deliver(store: Store, rq: redis.Redis) -> int:
    """Hand over what may start now, and push it to RQ: how many tasks.

    Blocking; raises what OUTAGE names while the store is away. What was handed over and not pushed by then is swept
    back to ready.
    """
    handed = hand_over(store)
    for item in handed:
        queue.push(rq, item.queue, item.task_id, item.job_id)
    return len(handed)


def hand_over(store: Store) -> list[Handed]:
    """Choose, atomically, what may start now. Nothing is pushed yet: `deliver` does both."""
    reply = store.run(
        "handover",
        [
            keys.LANES,
            keys.LEASES,
            keys.SLOTS,
            keys.SWITCHES,
            keys.index("ready"),
            keys.index("handed"),
            keys.HOLD,
            keys.CURSOR,
        ],
        keys.TASK,
        keys.LANE,
        keys.SLOT,
        keys.CLASS,
        keys.lease(""),
        EXAMINE,
    )
    return [Handed(item["id"], int(item["job"]), item["class"]) for item in reply["handed"] or []]
