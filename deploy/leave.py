"""Letting workers end: they are told to drain, end by themselves, and only then are their containers removed.

A drain cuts nothing: this waits for as long as an attempt needs, and says for what.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from deploy import containers, interrupt
from deploy.containers import Container, named
from deploy.exits import STOPPED, Exit, meaning
from deploy.pool import Pool, Sight, Slot
from deploy.problem import KoalaSaid, PoolAway
from deploy.project import Project
from deploy.say import Progress, say
from deploy.services import WORKER

PACE_S = 1.0
UNKNOWN_S = 10.0
"""A worker that the pool does not know after so long is told by signal. Not at once: an engine that comes up again
starts those again that ended by one.
"""


@dataclass
class Leaving:
    """Some workers on their way out."""

    project: Project
    pool: Pool
    some: Sequence[Container]
    soft_s: float
    """How long an attempt may go on before it stops at its next step."""
    _told: set[str] = field(default_factory=set)
    _since: float = field(default_factory=time.monotonic)

    def wait(self) -> None:
        """Until each has ended. Raises Interrupted; then they go on draining."""
        progress = Progress()
        while left := self._running():
            sight = self._tell(left)
            progress(self._text(left, sight))
            interrupt.sleep(PACE_S)

    def remove(self) -> None:
        """Remove the containers of those that have ended; says how one ended that did not end well."""
        for one in self._now():
            if one.up:
                continue
            if one.exit not in STOPPED:
                say(f"{one.name} ended with {meaning(one.exit)}")
            self.project.engine.tried("rm", one.id)

    def _now(self) -> list[Container]:
        return [containers.parse(found) for found in self.project.engine.inspect(*(one.id for one in self.some))]

    def _running(self) -> list[Container]:
        return [one for one in self._now() if one.up]

    def _tell(self, left: Sequence[Container]) -> Sight | None:
        """Drain each worker, once; one that the pool does not know of for a while, by signal."""
        try:
            sight = self.pool.sight()
        except PoolAway:
            sight = None
        for one in left:
            names = sight.workers(one) if sight else []
            for worker in names:
                self._drain(worker, one)
            if not names and self._is_unknown(one):
                self._signal(one)
        return sight

    def _is_unknown(self, one: Container) -> bool:
        """Whether it was not told yet, and is no worker, or has had time enough to show up. One that left was told."""
        waited = time.monotonic() - self._since > UNKNOWN_S
        return one.id not in self._told and (one.service != WORKER or one.state == "restarting" or waited)

    def _drain(self, worker: str, one: Container) -> None:
        if worker in self._told:
            return
        try:
            self.pool.order("drain", worker, "--as", "deploy")
        except PoolAway:
            return  # the next round asks again
        except KoalaSaid as error:
            if error.code != Exit.NOT_FOUND:  # it has just ended
                raise
        self._told |= {worker, one.id}

    def _signal(self, one: Container) -> None:
        # One between two restarts has no process to signal: to stop it keeps it from coming back.
        how = ("stop",) if one.state == "restarting" else ("kill", "--signal", "TERM")
        self.project.engine.tried(*how, one.id, timeout_s=None)
        self._told.add(one.id)

    def _text(self, left: Sequence[Container], sight: Sight | None) -> str:
        if sight is None:
            return f"waits for {named(left)}: the pool does not answer; they are told by signal then"
        return f"waits for {'; '.join(_one(container, sight.of(container)) for container in left)}{self._until()}"

    def _until(self) -> str:
        over = self._since + self.soft_s - time.monotonic()
        if over > 0:
            at = time.strftime("%H:%M:%S", time.localtime(time.time() + over))
            return f" (steps end by {at}, an effect takes as long as it needs)"
        return " (past the soft limit: an effect is under way, or a browser closes)"


def _one(container: Container, slots: list[Slot]) -> str:
    tasks = [slot.task for slot in slots if slot.busy]
    return f"{container.name}, which runs {' and '.join(tasks)}" if tasks else f"{container.name}, which runs nothing"


def all_of(project: Project, pool: Pool, some: Sequence[Container]) -> None:
    """Let them end, then remove their containers. Raises Interrupted, Problem."""
    if not some:
        return
    leaving = Leaving(project, pool, some, project.soft_s)
    leaving.wait()
    leaving.remove()
