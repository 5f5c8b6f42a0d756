"""`rollout`: a new image in batches; back to the old one by itself when it does not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

from deploy import choose, last_words, memory, plan
from deploy.canaries import Canaries
from deploy.containers import Container, named
from deploy.exits import Exit
from deploy.health import Rejected
from deploy.plan import Pace
from deploy.pool import Pool
from deploy.problem import PoolAway, Problem
from deploy.project import TAG, TAG_BEFORE, Project
from deploy.replacing import Replacing
from deploy.say import problem, say
from deploy.services import SCHEDULER, WORKER
from deploy.watching import Watching

GOES_ON = "give `make deploy` again to go on, or `make deploy BACK=1` to go back"


@dataclass
class Rollout:
    """From one image to another."""

    project: Project
    pool: Pool
    """Asked with the old image's `koala`: the new one's may not even start."""
    new: str
    old: str
    _canaries: Canaries = field(init=False)

    def __post_init__(self) -> None:
        self._canaries = Canaries(self.pool)

    @cached_property
    def paces(self) -> tuple[Pace, Pace]:
        """Of the workers and of the schedulers; of what runs when it was asked first."""
        project = self.project
        target = max(project.services.replicas(WORKER), *_alike(project.workers))
        each = project.services.memory(WORKER)
        room = memory.room(memory.total(project), memory.others(project), each, target)
        workers = plan.pace(target, project.settings.batch, project.settings.surge, room)
        return workers, plan.pace(max(1, *_alike(project.schedulers)), 1, 1, None)

    @property
    def most(self) -> int:
        """The most workers that run at a time."""
        return self.paces[0].target + self.paces[0].surge

    def run(self) -> Exit:
        """Forward, or back when it does not do. Raises Problem, Interrupted: then it can be gone on with."""
        try:
            self._forward()
        except Rejected as why:
            say(f"koala {self.new} is rolled back: {why}")
            last_words.show(self.project, self._of_new())
            return self.back()
        say(f"koala {self.new} runs everywhere; {self.old} is kept, `make deploy BACK=1` returns to it")
        return Exit.OK

    def _forward(self) -> None:
        self.pool.order("image", "try", self.new, "--as", "deploy")
        workers = self._replacing(WORKER, self.new, self.paces[0])
        watching = Watching(self.pool, self.old, self.new, workers.fresh)
        watching.begin()
        workers.prove = partial(self._prove, workers)
        workers.watch = partial(watching.window, self.project.settings.watch_s)
        workers.run()
        self._replacing(SCHEDULER, self.new, self.paces[1]).run()
        self._canaries.withdraw()
        say(self.pool.order("image", "accept", self.new, "--as", "deploy").strip())
        self.project.keep({TAG: self.new, TAG_BEFORE: self.old})

    def back(self) -> Exit:
        """To the old image, also from a roll-out that was stopped. Nothing of the old image is removed."""
        try:
            self._backward()
        except Problem as error:
            problem(error)
            say(f"the way back to koala {self.old} stopped: `make status` shows what runs; {GOES_ON}")
            return Exit.DIVIDED
        say(f"koala {self.old} runs everywhere again")
        return Exit.ROLLED_BACK

    def _backward(self) -> None:
        self._declare()
        self._discard()
        self.project.keep(self.project.went_back(self.old))
        workers = self._replacing(WORKER, self.old, self.paces[0])
        workers.prove = partial(self._prove, workers)
        workers.run()
        self._replacing(SCHEDULER, self.old, self.paces[1]).run()

    def _declare(self) -> None:
        """Say that it goes back: profiles that a newer Chromium opened may be put back to their copies."""
        self.pool.order("image", "back", self.new, "--to", self.old, "--as", "deploy")
        self._canaries.withdraw()

    def _discard(self) -> None:
        """Remove new workers that have not been proven, and so never took work; a canary is no loss."""
        sight = self.pool.sight()
        unproven = [one for one in self.project.workers if one.tag == self.new and not choose.proven(one, sight)]
        working = {slot.worker for slot in sight.slots if slot.busy and not slot.trial}
        doomed = [one for one in unproven if not any(one.hosts(worker) for worker in working)]
        if doomed:
            say(f"removes {named(doomed)}")
            ids = [one.id for one in doomed]
            self.project.engine.docker("stop", "-t", "10", *ids)
            self.project.engine.docker("rm", "--force", *ids)

    def _of_new(self) -> list[Container]:
        return [one for one in [*self.project.workers, *self.project.schedulers] if one.tag == self.new]

    def _prove(self, workers: Replacing) -> None:
        self._canaries.prove(workers.fresh, self.project.settings.canary_s)

    def _replacing(self, service: str, tag: str, pace: Pace) -> Replacing:
        return Replacing(self.project, self.pool, service, tag, pace)

    def described(self) -> list[str]:
        """The plan, a line a batch, from what runs now."""
        pace, schedulers = self.paces
        there, image = self.project.workers, self.project.reference(self.new)
        try:
            sight = self.pool.sight()
        except PoolAway as error:
            raise Problem(f"no plan without the pool: {error}", error.advice, error.exit_code) from error
        names = {one.id: one.name for one in there}
        batches = plan.whole(choose.members(there, sight, image), pace)
        lines = [f"workers to {image}: {pace.target}, {pace.size} at a time, {pace.surge} beside them meanwhile"]
        lines += [f"  {number}. {_batch(batch, names, self)}" for number, batch in enumerate(batches, 1)]
        lines.append(f"then {schedulers.target} scheduler(s), the standby first; everything else stays")
        return lines


def _batch(batch: plan.Batch, names: dict[str, str], rollout: Rollout) -> str:
    settings, slots = rollout.project.settings, rollout.project.slots
    leave = ", ".join(names.get(id_, id_) for id_ in batch.leave)
    clear = [f"remove {', '.join(names.get(id_, id_) for id_ in batch.clear)} (not running)"] if batch.clear else []
    start = [f"start {batch.start}, wait for health and {batch.start * slots} canaries"] if batch.start else []
    go = [f"drain and remove {leave}"] if leave else []
    middle = [*go, *start] if batch.leave_first else [*start, *go]
    return "; ".join([*clear, *middle, f"watch {settings.watch_s:.0f} s"])


def _alike(some: Sequence[Container]) -> list[int]:
    """How many run of each image."""
    up = [one.image for one in some if one.up]
    return [0, *(up.count(image) for image in set(up))]
