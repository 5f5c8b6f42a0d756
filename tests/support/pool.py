"""A pool without processes: what the scheduler, slots and people do to the store, one call a word."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from koala import handover, keys, leases, ledger, reviews, slots, tasks
from koala.attempt import Attempt
from koala.leases import Lease, Terms
from koala.store import Reply, Store
from koala.tasks import Submission, Task
from tests.support.waiting import until

TERMS = Terms(ttl_s=60, margin_s=1)
CLASS = "class"
OPERATION, TOKEN = "shop/order/cart-1", "token"
PRICE = ledger.canonical({"price": 19})
FACTS = {"k": "K", "d": "D", "b": "B", "machine": "m", "boot": "b"}
AHEAD_MS = 3_600_000
"""Slots of a test live for an hour: only `lapse` ends things."""


def dump(store: Store) -> dict[str, tuple[str, int]]:
    """Every key of the store, with the digest of its value and its expiry."""
    keys_ = sorted(map(str, store.client.keys("*")))
    pipe: Any = store.client.pipeline()
    for key in keys_:
        pipe.execute_command("DEBUG", "DIGEST-VALUE", key)
        pipe.pexpiretime(key)
    found = pipe.execute()
    return {key: (str(found[2 * at]), found[2 * at + 1]) for at, key in enumerate(keys_)}


@contextmanager
def unchanged(store: Store) -> Iterator[None]:
    """What is done inside writes nothing at all."""
    before = dump(store)
    yield
    after = dump(store)
    changed = sorted(key for key in before.keys() | after.keys() if before.get(key) != after.get(key))
    assert not changed, f"written: {changed}"


def refused(reason: str, **more: object) -> Reply:
    """What a script answers when it does not do it."""
    return {"ok": False, "reason": reason, **more}


@dataclass
class Pool:
    """Words for tests. Each does what its name says to `store`, and answers with what the store said."""

    store: Store
    _tokens: Any = field(default_factory=itertools.count)

    def submit(self, profile: str = "", *, workflow: str = "shop", **more: Any) -> Task:
        """Accept a task of `shop@1`; ids sort by the order of submission."""
        more.setdefault("id", f"task-{next(self._tokens):06}")
        given = Submission(workflow, 1, {"n": 1}, profile=profile, **more)
        return self.task(tasks.submit(self.store, given).id)

    def task(self, of: Task | str) -> Task:
        """The record as it is now."""
        return tasks.get(self.store, of if isinstance(of, str) else of.id)

    def status(self, of: Task) -> str:
        """The task's status now."""
        return self.task(of).status

    def token(self) -> str:
        """A token that nobody else has."""
        return f"token-{next(self._tokens)}"

    def acquire(self, task: Task, *, slot: str = "s1", token: str = "", **more: Any) -> Lease | str:
        """Ask for the lease."""
        terms = more.pop("terms", TERMS)
        given = {"slot": slot, "worker": "w1", "facts": {"machine": "m"}, **more}
        return leases.acquire(self.store, task, token or self.token(), terms, **given)

    def start(self, task: Task, **more: Any) -> Attempt:
        """Begin an attempt; it has to be granted."""
        lease = self.acquire(task, **more)
        assert isinstance(lease, Lease), lease
        return Attempt(self.store, self.task(task), lease, "w1")

    def running(self, profile: str = "", **more: Any) -> Attempt:
        """A new task's first attempt."""
        return self.start(self.submit(profile, **more))

    def tick(self) -> None:
        """Let the store's clock go on by two milliseconds, since what comes within one has no order."""
        now = tasks.now_ms(self.store)
        until(lambda: tasks.now_ms(self.store) > now + 1, "the store's next millisecond")

    def lapse(self, lease: Lease) -> None:
        """Let a lease's time pass."""
        self.store.client.hset(keys.lease(lease.resource), "expires_ms", 1)
        self.store.client.zadd(keys.LEASES, {lease.resource: 1})

    def lose(self, attempt: Attempt) -> Task:
        """Its worker is lost: the lease runs out and the task is rescued."""
        self.lapse(attempt.lease)
        assert [id_ for id_, _ in leases.rescue(self.store)] == [attempt.task.id]
        return self.task(attempt.task)

    def sent(
        self, attempt: Attempt, operation: str = OPERATION, *, token: str = TOKEN, description: str = PRICE
    ) -> Attempt:
        """Plan an effect and pass its gate; the gate has to open."""
        assert attempt.look(operation, description)["ok"]
        reply = attempt.sent(operation, token, description, False, FACTS)
        assert reply["ok"], reply
        return attempt

    def gate(self, attempt: Attempt, operation: str = OPERATION, **more: Any) -> Reply:
        """Ask at the gate."""
        given = {"token": TOKEN, "description": PRICE, "approval": False, "facts": FACTS, **more}
        return attempt.sent(operation, **given)

    def unknown(self, profile: str = "", **more: Any) -> Task:
        """A task whose worker was lost just after it was allowed to act."""
        return self.lose(self.sent(self.running(profile, **more)))

    def takeover(self, profile: str = "", **more: Any) -> Attempt:
        """The attempt that finds the `sent` of a lost one."""
        return self.start(self.unknown(profile, **more))

    def question(self, operation: str = OPERATION, **more: Any) -> dict[str, Any]:
        """A question as a child asks it: by default about try 1, quiet."""
        given = {"kind": "unknown", "operation": operation, "try": 1, "quiet": True, "why": "cannot tell"}
        description = more.pop("description", PRICE)
        told = {"hash": ledger.digest(operation, description), "description": description, "evidence": ""}
        return {**given, **told, **more}

    def ask(self, attempt: Attempt, **more: Any) -> reviews.Question:
        """End an attempt with a question."""
        question = self.question(**more)
        assert attempt.release("review", {"reason": question["why"], "question": question}) == "review"
        return reviews.get(self.store, self.task(attempt.task).question)

    def slot(self, name: str, runs: tuple[str, ...] = ("shop@1",), work_class: str = CLASS, **more: Any) -> None:
        """A slot's heartbeat."""
        fields = {"accepting": 1, "worker": "w1", **more}
        slots.heartbeat(self.store, name, AHEAD_MS / 1000, fields, list(runs), work_class)

    def hand_over(self) -> list[str]:
        """The ids of what was handed over."""
        return [handed.task_id for handed in handover.hand_over(self.store)]

    def effect(self, operation: str = OPERATION) -> ledger.Entry:
        """The ledger's record, which has to be there."""
        found = ledger.entry(self.store, operation)
        assert found
        return found

    def where(self, task: Task) -> list[str]:
        """The status indexes that a task is in."""
        return [status for status in keys.STATUSES if self.store.client.zscore(keys.index(status), task.id) is not None]

    def put(self, task: Task, **fields: Any) -> None:
        """Write fields of a record past the scripts, to move its time."""
        self.store.client.hset(keys.task(task.id), mapping=dict[Any, Any](fields))

    def receipt(self, attempt: Attempt, *, token: str = TOKEN, try_: int = 1, number: int = 1) -> Reply:
        """Record a receipt of the act."""
        text = json.dumps({"order": number})
        return attempt.settle(OPERATION, try_, "happened", token=token, receipt=text)
