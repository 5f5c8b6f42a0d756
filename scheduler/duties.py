"""What the active scheduler does, again and again: each duty a name, an interval, `run_once` and its count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import redis

from koala import counts, handover, keys, leases, ledger, queue, slots, starts, switches, tasks
from koala.clock import boottime, wall_ms
from koala.handover import Handed
from koala.logs import log
from koala.schedules.fire import fire
from koala.settings import Settings
from koala.store import Store
from scheduler.leader import Leader

BATCH = 200
STARTS_S = 2.0


@dataclass
class Duty:
    """One periodic duty. `run_once` is safe beside another scheduler's and says how much it did."""

    name: str
    every_s: float
    run_once: Callable[[], int]
    due_at: float = 0.0
    runs: int = 0
    did: int = 0
    last_ms: int = 0
    """When it last ran, by wall time; 0 when never."""

    def tick(self, now: float) -> None:
        """Run it if it is due; a full batch is followed by the next at once."""
        if now < self.due_at:
            return
        did = self.run_once()
        self.runs += 1
        self.last_ms = wall_ms()
        self.did += did
        self.due_at = now if did >= BATCH else now + self.every_s


def run_due(duties: Iterable[Duty], leader: Leader) -> None:
    """Run those that are due, for as long as it leads. Raises what OUTAGE names while the store is away."""
    for duty in duties:
        if leader.active:
            duty.tick(boottime())


@dataclass
class Duties:
    """All duties over one store."""

    store: Store
    settings: Settings
    away_until: float = 0.0
    """Until when ended leases are the store's fault: it was away itself."""
    _rq: redis.Redis = field(init=False)

    def __post_init__(self) -> None:
        self._rq = queue.connect(self.settings.redis_url, self.settings.password, self.settings.redis_user)

    def all(self) -> list[Duty]:
        """The duties in the order in which one tick runs them."""
        tick, sweep = self.settings.tick_s, self.settings.sweep_s
        return [
            Duty("fire", tick, lambda: fire(self.store, BATCH, self.settings.keep_ledger_days)),
            Duty("promote", tick, lambda: tasks.promote(self.store, BATCH)),
            Duty("expire", sweep, lambda: tasks.expire(self.store, BATCH)),
            Duty("rescue", sweep, self.rescue),
            Duty("reconcile", sweep, self.reconcile),
            Duty("hand_over", tick, lambda: handover.deliver(self.store, self._rq)),
            Duty("clean", 600.0, self.clean),
            Duty("starts", STARTS_S, self.starts),
        ]

    def store_was_away(self) -> None:
        """Leases that end within two terms from now ended because nobody could renew them."""
        self.away_until = boottime() + 2 * self.settings.lease_ttl_s

    def rescue(self) -> int:
        """Running tasks whose lease ended become ready."""
        rescued = leases.rescue(self.store, crashed=boottime() >= self.away_until)
        for task_id, status in rescued:
            log().warning("task_rescued", task=task_id, status=status)
        return len(rescued)

    def reconcile(self) -> int:
        """Handed tasks that RQ lost, or that no slot takes, become ready; what RQ holds of no task goes."""
        late = tasks.now_ms(self.store) - int(self.settings.handed_wait_s * 1000)
        taken_back = 0
        live = {slot["class"] for slot in slots.alive(self.store)}
        waiting = {name: queue.waiting(self._rq, keys.queue(name)) for name in self._classes(live)}
        for task in tasks.many(self.store, tasks.ids(self.store, "handed", before_ms=late, limit=BATCH)):
            job_id = Handed.last(task).job_id
            if job_id in waiting.get(task.class_, ()) and task.class_ in live:
                continue
            queue.purge(self._rq, keys.queue(task.class_), job_id)
            taken_back += tasks.unhand(self.store, task, "its delivery was lost or nobody took it")
        return taken_back + self._sweep_queues(waiting)

    def _classes(self, live: set[str]) -> set[str]:
        handed = tasks.many(self.store, tasks.ids(self.store, "handed", limit=BATCH))
        return live | {task.class_ for task in handed if task.class_}

    def _sweep_queues(self, classes: dict[str, set[str]]) -> int:
        running = tasks.many(self.store, tasks.ids(self.store, "running", limit=10_000))
        alive = {Handed.last(task).job_id for task in running}
        return sum(len(queue.sweep(self._rq, keys.queue(name), alive.__contains__)) for name in classes)

    def starts(self) -> int:
        """Copy what the programs wrote of their starts into the store."""
        return starts.copy(self.store, self.settings.starts) if self.settings.starts else 0

    def clean(self) -> int:
        """Remove what has been kept long enough, and the queues of classes that nobody is in any more.

        Counters of images of long ago are added up, drains of workers of long ago turned off.
        """
        counts.fold(self.store)
        queue.tidy(self._rq, {keys.queue(slot["class"]) for slot in slots.alive(self.store)})
        now = tasks.now_ms(self.store)
        day = 86_400_000
        # A drain is turned on for a live worker, whose slots may be silent for a moment: an hour is no moment.
        switches.forget_workers(self.store, slots.workers(self.store), now - 3_600_000)
        removed = tasks.forget(self.store, now - int(self.settings.keep_tasks_days * day), BATCH)
        return removed + ledger.forget(self.store, now - int(self.settings.keep_ledger_days * day), BATCH)
