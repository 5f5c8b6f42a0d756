"""The eight faults of the demo."""

from __future__ import annotations

import time
from collections.abc import Sequence

import psutil

from demo import plan, processes, story, victims
from demo.fault import Fault, Scene, names
from demo.pool import Program
from demo.sight import Running, Sight
from demo.story import Moment
from demo.victims import Part
from koala.clock import wall_ms

LONGEST_FREEZE_S = 4 * plan.TTL_S


def all_faults(scene: Scene) -> list[Fault]:
    """All of them, in the order in which they are told about."""
    first: list[Fault] = [
        RendererKilled(scene, Part.RENDERER, Moment.LOOKING),
        PartKilled(scene, Part.BROWSER, Moment.ORDERED),
        PartKilled(scene, Part.HOST, Moment.ORDERED),
        PartKilled(scene, Part.DRIVER, Moment.ORDERING),
    ]
    redis = RedisKilled(scene, after=first)
    worker = WorkerKilled(scene, after=[redis])
    scheduler = SchedulerKilled(scene, after=[redis])
    frozen = WorkerFrozen(scene, worker, after=[redis])
    return [*first, redis, worker, scheduler, frozen]


class PartKilled(Fault):
    """SIGKILL of one process below a slot: a tab, its browser, its driver, or the browser host itself."""

    def __init__(self, scene: Scene, part: Part, moment: Moment) -> None:
        super().__init__(scene, f"{part} kill", wants=[moment])
        self._part = part

    def strike(self, sight: Sight) -> str:
        for victim in self.candidates(sight):
            process = victims.find(self._part, victim)
            if process is None or not processes.kill(process):
                continue
            self.hits = self.scene.still_running([victim])
            if self.hits:
                return f"killed the {self._part} of {names(self.hits, moments=True)}"
        return ""

    def spoiled(self, sight: Sight) -> bool:
        return all(story.unharmed(sight.events[hit.work.label], hit.fence) for hit in self.hits)


class RendererKilled(PartKilled):
    """SIGKILL of the renderer of the page: the attempt goes on with a new tab. It counts when the attempt says so."""

    def went_on_ms(self, sight: Sight) -> int | None:
        (hit,) = self.hits
        events = sight.events[hit.work.label]
        if story.tab_cost_attempt(events, hit.fence):
            return super().went_on_ms(sight)
        return story.new_tab_ms(events, self.struck_ms)

    def spoiled(self, sight: Sight) -> bool:
        (hit,) = self.hits
        events = sight.events[hit.work.label]
        told = story.new_tab_ms(events, self.struck_ms) or story.tab_cost_attempt(events, hit.fence)
        return not told and story.ended(events, hit.fence)


class RedisKilled(Fault):
    """SIGKILL of the store, under running attempts; started again a second later."""

    def __init__(self, scene: Scene, *, after: Sequence[Fault]) -> None:
        super().__init__(scene, "Redis kill", wants=[Moment.ORDERING, Moment.ORDERED], after=after)
        self._start_at = 0.0
        self._gone_ms = 0

    def strike(self, sight: Sight) -> str:
        if not self.candidates(sight):
            return ""
        self.hits = list(sight.running)
        self.scene.pool.redis.kill()
        self._gone_ms = wall_ms()
        self._start_at = time.monotonic() + plan.OUTAGE_S
        return f"killed Redis under {len(self.hits)} running tasks; it starts again in {plan.OUTAGE_S:g} s"

    def mended(self, sight: Sight) -> bool:
        if self._start_at and time.monotonic() >= self._start_at:
            self.scene.pool.redis.start()
            self._start_at = 0.0
        return not self._start_at

    def went_on_ms(self, sight: Sight) -> int | None:
        later = [event.at_ms for events in sight.events.values() for event in events if event.at_ms > self._gone_ms]
        return min(later, default=None)

    def epilogue(self) -> str:
        return "the first write was accepted again"


class SchedulerKilled(Fault):
    """SIGKILL of the active scheduler; a new one is started, which is the standby from now on."""

    def __init__(self, scene: Scene, *, after: Sequence[Fault]) -> None:
        super().__init__(scene, "scheduler kill", after=after)
        self._pid = 0

    def strike(self, sight: Sight) -> str:
        active = next((one for one in self.scene.pool.schedulers if one.alive and one.pid == sight.leader_pid), None)
        if active is None:
            return ""
        self._pid = active.pid
        active.kill()
        standby = self.scene.pool.add_scheduler()
        return f"killed {active.name}, the active one; {standby.name} joins as a standby"

    def went_on_ms(self, sight: Sight) -> int | None:
        changed = sight.leader_pid not in (0, self._pid) and sight.leader_since_ms >= self.struck_ms
        return sight.leader_since_ms if changed else None

    def epilogue(self) -> str:
        return "the standby had taken over"


class _WorkerFault(Fault):
    """Something that happens to a whole worker with everything below it."""

    def victim(self, sight: Sight) -> tuple[Program, list[Running]] | None:
        """The worker whose work is in the dearest moment, with its attempts; None when none may be hit."""
        alive = {worker.name: worker for worker in self.scene.pool.workers if worker.alive}
        for one in self.candidates(sight):
            attempts = [hit for hit in sight.running if hit.worker == one.worker]
            if one.worker in alive and all(map(self.may_hit, attempts)):
                return alive[one.worker], attempts
        return None


class WorkerKilled(_WorkerFault):
    """SIGKILL of a worker's supervisor and everything below it; a new worker is started."""

    def __init__(self, scene: Scene, *, after: Sequence[Fault]) -> None:
        super().__init__(scene, "worker kill", wants=[Moment.ORDERED, Moment.ORDERING], after=after)

    def strike(self, sight: Sight) -> str:
        victim = self.victim(sight)
        if victim is None:
            return ""
        worker, attempts = victim
        worker.kill()
        self.scene.pool.end_orphans()
        self.hits = self.scene.still_running(attempts)
        new = self.scene.pool.add_worker()
        if not self.hits:
            self.scene.say(f"killed {worker.name} too late: it had just finished; {new.name} starts")
            return ""
        return f"killed {worker.name} with {names(self.hits, moments=True)}; {new.name} starts"


class WorkerFrozen(_WorkerFault):
    """SIGSTOP of a worker and everything below it until its tasks have been taken from it; then SIGCONT."""

    def __init__(self, scene: Scene, kill: Fault, *, after: Sequence[Fault]) -> None:
        super().__init__(scene, "worker freeze", wants=[Moment.ORDERING, Moment.ORDERED], after=after)
        self._kill = kill
        self._frozen: list[psutil.Process] = []
        self._worker = ""
        self._since = 0.0

    def ready(self, sight: Sight) -> bool:
        """When the killed worker has been replaced: somebody has to be there who takes over."""
        there = {seat.worker for seat in sight.seats if seat.accepting and self._lives(seat.worker)}
        return self._kill.struck and len(there) >= plan.WORKERS

    def _lives(self, name: str) -> bool:
        return any(worker.name == name and worker.alive for worker in self.scene.pool.workers)

    def strike(self, sight: Sight) -> str:
        victim = self.victim(sight)
        if victim is None:
            return ""
        worker, attempts = victim
        self._worker, self._since = worker.name, time.monotonic()
        self._frozen = processes.freeze(worker.pid)
        self.hits = self.scene.still_running(attempts)
        if not self.hits:
            self.thaw()
            return ""
        return f"froze {worker.name} with {names(self.hits, moments=True)}"

    def mended(self, sight: Sight) -> bool:
        if self._frozen and self._is_due(sight):
            seconds = time.monotonic() - self._since
            told = "its leases have ended" if self._taken(sight) else "although nobody has taken its tasks"
            self.thaw()
            self.scene.say(f"thawed {self._worker} after {seconds:.1f} s: {told}")
        return not self._frozen

    def thaw(self) -> None:
        """Let everything go on. Nothing when nothing is frozen."""
        processes.thaw(self._frozen)
        self._frozen = []

    @property
    def frozen(self) -> str:
        """The worker that is frozen now; empty when none is."""
        return self._worker if self._frozen else ""

    def _is_due(self, sight: Sight) -> bool:
        seconds = time.monotonic() - self._since
        return seconds >= LONGEST_FREEZE_S or (seconds >= plan.FREEZE_S and self._taken(sight))

    def _taken(self, sight: Sight) -> bool:
        return all(story.lost(sight.events[hit.work.label], hit.fence) for hit in self.hits)
