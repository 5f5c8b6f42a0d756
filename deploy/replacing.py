"""Bringing one service to another image, batch by batch: start, prove, let as many old ones end, watch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from deploy import choose, health, interrupt, leave, plan
from deploy.containers import Container, named
from deploy.plan import Batch, Pace
from deploy.pool import Pool
from deploy.project import Project
from deploy.say import say


def _nothing() -> None:
    """Proves or watches nothing."""


@dataclass
class Replacing:
    """One service on its way to the image with a tag. Repeating it goes on where it was."""

    project: Project
    pool: Pool
    service: str
    tag: str
    pace: Pace
    prove: Callable[[], None] = _nothing
    """Whether the new ones may take work. Raises Rejected."""
    watch: Callable[[], None] = _nothing
    """Whether they do well. Raises Rejected."""

    def run(self) -> None:
        """Until only containers of that image run. Raises Rejected, Problem, Interrupted."""
        while batch := self._next():
            self._do(batch)
        self._accept()

    def fresh(self) -> list[Container]:
        """Those that have the image."""
        wanted = self.project.reference(self.tag)
        return [one for one in self.project.made_from(self.service) if one.image == wanted]

    def _next(self) -> Batch | None:
        interrupt.check()
        there = self.project.made_from(self.service)
        seen = choose.members(there, self.pool.sight(), self.project.reference(self.tag))
        return plan.next_batch(seen, self.pace)

    def _do(self, batch: Batch) -> None:
        for id_ in batch.clear:
            self.project.engine.docker("rm", "--force", id_)
        if batch.leave_first:
            self._leave(batch.leave)
        if batch.start:
            self._start(batch.start)
        self._accept()
        if not batch.leave_first:
            self._leave(batch.leave)
        self.watch()

    def _start(self, number: int) -> None:
        there = len(self.project.made_from(self.service))
        say(f"starts {number} {self.service}{'s' if number > 1 else ''} of {self.project.reference(self.tag)}")
        self.project.compose(self.tag).more(self.service, there + number)

    def _accept(self) -> None:
        health.wait(self.fresh, self.project.settings.healthy_s)
        self.prove()

    def _leave(self, ids: tuple[str, ...]) -> None:
        chosen = [one for one in self.project.made_from(self.service) if one.id in ids]
        if chosen:
            say(f"lets {named(chosen)} end")
            leave.all_of(self.project, self.pool, chosen)
