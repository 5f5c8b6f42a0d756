"""A pool as its user and its outside world see it: work is given, records are read, ends are waited for."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from demo.shop.server import ShopProcess
from koala import keys, ledger, reviews, slots, tasks, timeline
from koala.client import prepare
from koala.ledger import Entry
from koala.reviews import Question
from koala.store import Store
from koala.tasks import Task
from koala.timeline import Event
from koala.workflow import Registry
from tests.support.waiting import until
from worker import processes

LONG_S = 60.0
"""How long a test waits for what must come: far longer than it takes, for a busy machine."""

OPTIONS = ("plan", "profile", "dedupe", "priority", "deadline", "at")
"""What `order` and `errand` pass to `submit`; the rest is for the workflow."""


class PoolView:
    """Over any real pool: `store` is the test's own client, safe to use from several threads."""

    home: Path
    shop: ShopProcess
    store: Store
    registry: Registry

    def logs(self) -> str:
        """The end of every program's output."""
        raise NotImplementedError

    # Work

    def submit(self, workflow: str, args: Mapping[str, Any], *, plan: str = "", dedupe: str = "", **more: Any) -> str:
        """Accept a task; its id. `plan` are fault points for it alone."""
        given = prepare(self.registry, workflow, dict(args), key=dedupe, **more)
        id_ = tasks.new_id()
        if plan:
            (self.home / "faults" / f"plan-{id_}").write_text(plan)
        given = tasks.Submission(**{**vars(given), "id": id_})
        return tasks.submit(self.store, given).id

    def order(self, reference: str, *, workflow: str = "shop.order_by_api", **more: Any) -> str:
        """Submit an order of one mug by the API; `plan`, `profile` and the like go to `submit`, the rest is args."""
        options = {name: more.pop(name) for name in OPTIONS if name in more}
        base = {"shop": self.shop.url, "user": "ann", "sku": "MUG-1", "reference": reference, "settle_s": 0.5}
        return self.submit(workflow, {**base, **more}, **options)

    def errand(self, workflow: str, reference: str, **more: Any) -> str:
        """Submit one of `tests.support.workflows`, with a folder of gates of its own."""
        folder = self.make_gates(reference)
        options = {name: more.pop(name) for name in OPTIONS if name in more}
        args = {"shop": self.shop.url, "reference": reference, "folder": str(folder), **more}
        return self.submit(workflow, args, **options)

    def make_gates(self, reference: str) -> Path:
        """The folder of an errand's gates, there now."""
        folder = self.gates(reference)
        folder.mkdir(exist_ok=True)
        return folder

    def gates(self, reference: str) -> Path:
        """Where the gates of an errand are."""
        return self.home / "gates" / reference

    def open_gate(self, reference: str, *names: str) -> None:
        """Let an errand through these gates."""
        for name in names:
            (self.gates(reference) / f"{name}.open").touch()

    def until_at(self, reference: str, gate: str) -> None:
        """Until the errand stands at the gate."""
        self.until((self.gates(reference) / f"{gate}.reached").exists, f"{reference} at {gate}")

    # Looking

    def task(self, id_: str) -> Task:
        """The record as it is now."""
        return tasks.get(self.store, id_)

    def result(self, id_: str) -> Any:
        """What a task gave."""
        return json.loads(self.task(id_).result)

    def events(self, id_: str, *actions: str) -> list[Event]:
        """The task's timeline, narrowed to some actions when they are named."""
        return [event for event in timeline.read(self.store, id_) if not actions or event.action in actions]

    def actions(self, id_: str) -> list[str]:
        """The actions of the task's timeline."""
        return [event.action for event in self.events(id_)]

    def orders(self, reference: str) -> int:
        """How many orders the shop has under a reference."""
        return self.shop.book.references()[reference]

    def effect(self, reference: str, workflow: str = "test.order", name: str = "place_order") -> Entry:
        """The ledger's record of an order."""
        found = ledger.entry(self.store, ledger.operation(workflow, name, reference))
        assert found
        return found

    def question(self, id_: str) -> Question:
        """The task's open question."""
        return reviews.get(self.store, self.task(id_).question)

    def slot(self, id_: str) -> dict[str, str]:
        """The slot that runs the task, as it was at its last heartbeat, and its `pid`."""
        started = self.events(id_, "attempt_started")[-1].data["slot"]
        self.until(lambda: started in {slot["id"] for slot in slots.alive(self.store)}, f"slot {started} is heard of")
        return self.store.hash(keys.slot(started))

    def slots(self) -> list[dict[str, str]]:
        """The last heartbeat of every living slot."""
        return slots.alive(self.store)

    def parents(self) -> list[int]:
        """The pids of all slots' parents."""
        return [int(slot["pid"]) for slot in self.slots()]

    def work_class(self) -> str:
        """The class of work of its workers, which all run the same."""
        return self.slots()[0]["class"]

    def parent_of(self, id_: str) -> int:
        """The pid of the slot's parent that runs the task."""
        return int(self.slot(id_)["pid"])

    def child_of(self, id_: str) -> int:
        """The pid of the child that runs the task."""
        return processes.children(self.parent_of(id_))[0].pid

    # Waiting

    def until(self, condition: Callable[[], object], what: str, within_s: float = LONG_S) -> None:
        """Until `condition()` is true; AssertionError with the end of every log otherwise."""
        try:
            until(condition, what, within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.logs()}") from None

    def until_status(self, id_: str, *statuses: str, within_s: float = LONG_S) -> Task:
        """Until the task has one of the statuses; the record. AssertionError with its story when it ends otherwise."""
        try:
            self.until(lambda: self.task(id_).status in {*statuses, *keys.ENDED}, f"{id_} {statuses}", within_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story(id_)}") from None
        task = self.task(id_)
        assert task.status in statuses, self.story(id_)
        return task

    def until_done(self, *ids: str, within_s: float = LONG_S) -> None:
        """Until every task is done; AssertionError with the story of one that ends otherwise."""
        for id_ in ids:
            self.until_status(id_, "done", within_s=within_s)

    def until_event(self, id_: str, action: str, times: int = 1, **data: Any) -> Event:
        """Until the timeline has the action, with these data, so many times; the event. With the story otherwise."""

        def found() -> list[Event]:
            return [event for event in self.events(id_, action) if data.items() <= event.data.items()]

        try:
            self.until(lambda: len(found()) >= times, f"{times} times {action} {data} of {id_}")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.story(id_)}") from None
        return found()[times - 1]

    def until_arrived(self, reference: str, times: int = 1) -> None:
        """Until the shop has been asked for the order so often."""
        self.until(lambda: self.shop.state()["arrivals"].get(reference, 0) >= times, f"{reference} arrived")

    def until_gone(self, pid: int) -> None:
        """Until no such process lives."""
        self.until(lambda: processes.find(pid) is None, f"process {pid} is gone")

    def until_ended(self, number: int) -> None:
        """Until so many tasks are done, in all."""
        self.until(lambda: tasks.counts(self.store)["done"] >= number, f"{number} tasks done")

    # Telling

    def story(self, id_: str) -> str:
        """The task and its timeline as text, for the message of a failed test."""
        lines = [f"{event.at_ms % 1_000_000:7d} {event.action} {event.data}" for event in self.events(id_)]
        task = self.task(id_)
        head = f"{task.id} {task.workflow} {task.status}: {task.reason!r} wanted {task.wanted!r} {task.error[:500]}"
        return "\n".join([head, *lines])
