"""Canaries: harmless tasks, one for each slot on trial. A slot takes real work when one has ended well on it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from deploy import choose, interrupt
from deploy.containers import Container, named
from deploy.health import Look, Rejected, fault
from deploy.pool import Pool, Sight
from deploy.problem import KoalaSaid
from deploy.say import Progress

WORKFLOW = "koala.canary"
KEPT = "10m"
"""A canary that nobody takes expires after so long."""
OPEN = frozenset(["later", "ready", "handed", "running"])
BAD = frozenset(["failed", "dead", "expired", "cancelled", "review"])
PACE_S = 1.0
LISTED = "200"


@dataclass
class Canaries:
    """The proof of some new workers."""

    pool: Pool
    _mine: set[str] = field(default_factory=set)
    _progress: Progress = field(default_factory=Progress)

    def prove(self, look: Look, seconds: float) -> None:
        """Until every slot of these workers has passed one. Raises Rejected, PoolAway, Interrupted."""
        end = time.monotonic() + seconds
        while True:
            some, sight = look(), self.pool.sight()
            if why := fault(some):
                raise Rejected(why)
            left = [one for one in some if not choose.proven(one, sight)]
            if not left:
                return
            self._judge_and_submit(left, sight)
            self._progress(_text(left, sight))
            if time.monotonic() >= end:
                raise Rejected(f"{named(left)}: not every slot has passed a canary within {seconds:.0f} s")
            interrupt.sleep(PACE_S)

    def _judge_and_submit(self, left: Sequence[Container], sight: Sight) -> None:
        tasks = self._tasks()
        for task in tasks:
            if task["id"] in self._mine and task["status"] in BAD:
                why = task.get("error") or task.get("reason") or "it says no reason"
                raise Rejected(f"the canary {task['id']} is {task['status']}: {why}")
        on_trial = sum(slot.trial for one in left for slot in sight.of(one))
        under_way = sum(task["status"] in OPEN for task in tasks)
        for _ in range(max(0, on_trial - under_way)):
            self._mine.add(self._submit())

    def _submit(self) -> str:
        profile = f"canary-{secrets.token_hex(4)}"
        return str(self.pool.ask("submit", WORKFLOW, "--profile", profile, "--deadline", KEPT)["id"])

    def _tasks(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.pool.ask("tasks", "--workflow", WORKFLOW, "--limit", LISTED)
        return found

    def withdraw(self) -> None:
        """Cancel what is still under way: nobody is left to take it."""
        for task in self._tasks():
            if task["status"] in OPEN:
                try:
                    self.pool.order("cancel", str(task["id"]), "--as", "deploy", "--why", "the roll-out ended")
                except KoalaSaid:
                    continue  # it has just ended


def _text(left: Sequence[Container], sight: Sight) -> str:
    trial = sum(slot.trial for one in left for slot in sight.of(one))
    return f"{named(left)}: {trial} slots on trial" if trial else f"waits for the slots of {named(left)}"
