"""One look at the pool: how far every task is, and who runs what."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import psutil

from demo.plan import Work
from demo.pool import Pool
from demo.story import Moment, moment
from koala import keys, slots, tasks, timeline
from koala.store import OUTAGE, Store
from koala.tasks import Task
from koala.timeline import Event


@dataclass(frozen=True)
class Running:
    """One attempt under way."""

    work: Work
    task_id: str
    fence: str
    crashes: int
    slot: str
    slot_pid: int
    worker: str
    """The name of its worker's program; empty when that is not one of ours."""
    moment: Moment
    number: int
    """The how-manieth attempt of its task."""


@dataclass(frozen=True)
class Seat:
    """A slot that is there, and the worker program it belongs to."""

    id: str
    pid: int
    worker: str
    accepting: bool


@dataclass(frozen=True)
class Sight:
    """What was seen. The parts are not of one instant."""

    tasks: Mapping[str, Task]
    """By label."""
    events: Mapping[str, Sequence[Event]]
    running: Sequence[Running] = ()
    seats: Sequence[Seat] = ()
    leader_pid: int = 0
    leader_since_ms: int = 0
    away: bool = False
    """Whether the store did not answer; the rest is what was seen last."""

    def count(self, workflow: str) -> int:
        """How many tasks of a workflow are done."""
        return sum(task.status == "done" and task.workflow == workflow for task in self.tasks.values())

    @property
    def over(self) -> bool:
        """Whether no task is left to run: all have ended, or wait for a person, who does not come here."""
        return bool(self.tasks) and all(task.ended or task.status == "review" for task in self.tasks.values())


@dataclass
class Watcher:
    """Looks at the tasks of a demo again and again, reading only what is new of their timelines."""

    store: Store
    pool: Pool
    works: dict[str, Work] = field(default_factory=dict)
    """What was submitted, by task id."""
    _events: dict[str, list[Event]] = field(default_factory=dict)
    _seats: dict[str, Seat] = field(default_factory=dict)
    _read_at: dict[str, str] = field(default_factory=dict)
    """The state of a task in which its timeline was read last."""
    last: Sight = field(default_factory=lambda: Sight({}, {}))

    def look(self) -> Sight:
        """The pool now; while the store is away the last sight, marked so."""
        try:
            self.last = self._look()
        except OUTAGE:
            self.last = replace(self.last, away=True)
        return self.last

    def _look(self) -> Sight:
        found = {self.works[task.id].label: task for task in tasks.many(self.store, list(self.works))}
        for task in found.values():
            self._read(task)
        seats = [self._seat(slot) for slot in slots.alive(self.store)]
        running = [self._running(task) for task in found.values() if task.status == "running"]
        events = {self.works[id_].label: events for id_, events in self._events.items()}
        return Sight(found, events, self._asked([one for one in running if one]), seats, *self._leader())

    def _asked(self, running: list[Running]) -> list[Running]:
        """The same, with what the shop knows: whose order has arrived there."""
        if not any(one.moment is Moment.ORDERING for one in running):
            return running
        arrived = self._arrived()
        return [
            replace(one, moment=Moment.ORDERED)
            if one.moment is Moment.ORDERING and arrived.get(one.work.order)
            else one
            for one in running
        ]

    def _arrived(self) -> dict[str, int]:
        """How many orders of each reference have come to the shop, stored or not; nothing while it does not answer."""
        try:
            return dict(self.pool.shop.state()["arrivals"])
        except OSError:
            return {}

    def _read(self, task: Task) -> None:
        """Read on in a timeline, unless the task lies still since it was read."""
        state = f"{task.status} {task.fence} {task.jobs}"
        if task.status != "running" and self._read_at.get(task.id) == state:
            return
        known = self._events.setdefault(task.id, [])
        known += timeline.read(self.store, task.id, known[-1].id if known else "-")
        self._read_at[task.id] = state

    def _seat(self, slot: dict[str, str]) -> Seat:
        """A slot's seat; whose program it is does not change over its life."""
        pid, known = int(slot["pid"]), self._seats.get(slot["id"])
        worker = known.worker if known and known.pid == pid else self._program(pid)
        self._seats[slot["id"]] = Seat(slot["id"], pid, worker, slot.get("accepting") == "1")
        return self._seats[slot["id"]]

    def _program(self, slot_pid: int) -> str:
        try:
            parent = psutil.Process(slot_pid).ppid()
        except psutil.NoSuchProcess:
            return ""
        return next((worker.name for worker in self.pool.workers if worker.pid == parent), "")

    def _running(self, task: Task) -> Running | None:
        events = self._events[task.id]
        started = [event for event in events if event.action == "attempt_started"]
        seat = self._seats.get(str(started[-1].data["slot"])) if started else None
        if seat is None or started[-1].data["fence"] != task.fence:
            return None  # it was started just now: the next look has it
        work = self.works[task.id]
        told = (seat.id, seat.pid, seat.worker, moment(events), len(started))
        return Running(work, task.id, task.fence, task.crashes, *told)

    def _leader(self) -> tuple[int, int]:
        facts, since = self.store.client.hmget(keys.LEADER, "facts", "since_ms")
        return int(json.loads(str(facts))["pid"]) if facts else 0, int(since or 0)
