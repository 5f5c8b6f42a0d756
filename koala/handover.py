"""The hand-over: what may start now goes to RQ, at most as much as idle slots can take."""

from __future__ import annotations

from dataclasses import dataclass

from koala import keys
from koala.store import Store

EXAMINE = 2000
"""Lanes looked at in one go: the best, and when all of those wait as many of the others, in turn over the calls."""


@dataclass(frozen=True)
class Handed:
    """A task that was handed over; its delivery is still to be pushed."""

    task_id: str
    job: int
    work_class: str

    @property
    def job_id(self) -> str:
        """The delivery's id: one a hand-over, so that pushing twice is one delivery."""
        return f"{self.task_id}-{self.job}"

    @property
    def queue(self) -> str:
        """The queue of its class of work."""
        return keys.queue(self.work_class)


def hand_over(store: Store) -> list[Handed]:
    """Choose, atomically, what may start now. The caller pushes each; one that is not pushed is swept back to ready."""
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
