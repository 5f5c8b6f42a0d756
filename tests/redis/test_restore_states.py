"""Any order of what may happen, with backups put back in between: promise 3 holds over restores.

The outside world is not put back: what reached the site stays there, what was on its way may still arrive, and people's
answers come late. V4, V6 and V8 are among the ways that chance finds.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from koala import keys, restore
from koala.errors import NotFound
from koala.restore import Word
from koala.reviews import Answer
from koala.store import Store
from tests.redis.test_store_states import CLASSES, SLOTS, Machine, pick, small
from tests.support.backup import Kept

DOUBT_MS = 86_400_000
TAIL = ("gate", "settle", "settle", "killed", "acts", "release", "lapse", "ask")


class RestoredMachine(Machine):
    """The same rules, and two more."""

    doubt_ms = DOUBT_MS

    def __init__(self) -> None:
        super().__init__()
        self.kept = Kept(self.store)
        self.since = 0
        """Epoch of the last restore: what the tools remember outside the store."""

    @rule()
    def back_up(self) -> None:
        """Now."""
        self.kept = Kept(self.store)

    @precondition(lambda self: self.made)
    @rule(number=pick)
    def put_back(self, number: int) -> None:
        """The last backup, any number of times. Old processes may still be there."""
        self.kept.put_back()
        self.since = restore.next_epoch(self.store, self.since)
        word = Word("eva", "a test", "m")
        assert restore.declare(self.store, self.since, word, ttl_ms=1, doubt_ms=self.doubt_ms)
        self.store.client.set(keys.HOLD, 0)
        for name, runs in SLOTS.items():
            self.pool.slot(name, runs, CLASSES[name])
        self.made = [id_ for id_ in self.made if self.store.client.exists(keys.task(id_))]
        self.attempts = [attempt for attempt in self.attempts if attempt.task.id in self.made]

    @precondition(lambda self: self.made)
    @rule(number=pick, which=small, begun=st.booleans(), tail=st.lists(st.sampled_from(TAIL), max_size=5))
    def forgotten(self, number: int, which: int, begun: bool, tail: list[str]) -> None:
        """The way to V4, which chance seldom finds: allowed after the backup, done, on its way, or not at all."""
        attempt = self.running(number)
        if not attempt:
            return
        if begun:
            self.gate(attempt, which)
        self.back_up()
        self.gate(attempt, which)
        if number % 3:
            self.acts(attempt, number % 5)
        self.put_back(number)
        task = self.pool.task(attempt.task)
        again = self.begin(task, repeat=False) if task.status == "ready" else None
        for move in ("gate", *tail) if again else ():
            getattr(self, move)(again, which)

    def answer(self, id_: str, try_: int, answer: Answer) -> None:
        """One to a question that the restore took away goes nowhere."""
        try:
            super().answer(id_, try_, answer)
        except NotFound:
            assert int(id_.split("-")[0]) != self.since


@pytest.fixture
def machine(store: Store) -> type[RestoredMachine]:
    return type("RestoredMachine", (RestoredMachine,), {"store": store})


def test_whatever_is_put_back_nothing_is_done_twice(machine: Any) -> None:
    """Promises 1 to 4, over restores."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            print_blob=False,
        ),
    )
