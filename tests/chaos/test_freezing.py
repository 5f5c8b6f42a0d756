"""A worker frozen for three lease lengths and thawed: whole, its slot's parent alone, its child alone.

In a step, in an act before its request left, and with its request at a shop that stores late. All cases are frozen at
the same time, beside slots that stay awake; a test looks at its own.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from koala import tasks, why
from koala.timeline import Event
from tests.support.live_pool import LivePool
from tests.support.program import Program
from tests.support.selection import selected
from worker import processes
from worker.processes import Process

pytestmark = pytest.mark.timeout(400)  # the first test waits for all cases, and a busy machine is slow
WHO = ("worker", "parent", "child")
WHERE = ("step0", "act", "shop")
STORED_AFTER_MS = 9000
SETTLE_S = 11.0
SPARE = 3
"""Workers of which nothing is frozen."""


@dataclass
class Case:
    """One order, who is frozen while it is where, and what was seen of it."""

    who: str
    where: str
    task: str = ""
    fence: str = ""
    child: Process | None = None
    frozen: list[Process] = field(default_factory=list)
    child_ended_ms: int = 0
    reasons: set[str] = field(default_factory=set)
    """Why it waited, as people were told while somebody was frozen."""

    @property
    def reference(self) -> str:
        return f"{self.who}-{self.where}"

    def __str__(self) -> str:
        return self.reference

    __hash__ = object.__hash__


CASES = [Case(who, where) for who, where in itertools.product(WHO, WHERE)]


class Freezer:
    """Brings every case to its place, freezes, watches, thaws."""

    def __init__(self, pool: LivePool, cases: list[Case]) -> None:
        self.pool = pool
        self.cases = cases
        self.frozen_ms = 0
        self.thawed_ms = 0

    def run(self) -> None:
        """From the submission to the end of every task."""
        workers = [self.pool.worker(1) for _ in range(len(self.cases) + SPARE)]
        self.pool.until_slots(len(workers))
        for case in self.cases:
            self._submit(case)
        for case in sorted(self.cases, key=lambda case: case.where, reverse=True):  # the shop waits for nobody
            self._reach(case, workers)
        self.frozen_ms = tasks.now_ms(self.pool.store)
        self._watch()
        self._thaw()
        self.pool.until_done(*(case.task for case in self.cases))

    def _submit(self, case: Case) -> None:
        gates = [] if case.where == "shop" else [case.where]
        case.task = self.pool.errand("test.order", case.reference, gates=gates, settle_s=SETTLE_S)

    def _reach(self, case: Case, workers: list[Program]) -> None:
        """Wait until it is there, note who runs it, and freeze."""
        if case.where == "shop":
            self.pool.until_arrived(case.reference)
        else:
            self.pool.until_at(case.reference, case.where)
        case.fence = self.pool.task(case.task).fence
        parent, child = self.pool.parent_of(case.task), self.pool.child_of(case.task)
        case.child = processes.find(child)
        trees = ([process.pid for process in worker.tree()] for worker in workers)
        whole = next(tree for tree in trees if parent in tree)
        case.frozen = self.pool.freeze(*{"worker": whole, "parent": [parent], "child": [child]}[case.who])

    def _watch(self) -> None:
        """Three lease lengths, and on a busy machine until others came.

        The gates open in the middle, so that a thawed one could go on at once.
        """
        began, opened = time.monotonic(), False

        def over() -> bool:
            nonlocal opened
            passed = time.monotonic() - began
            if passed > 1.5 * self.pool.ttl_s and not opened:
                self._open_gates()
                opened = True
            self._look()
            return passed > 3 * self.pool.ttl_s and self._others_came()

        self.pool.until(over, "three lease lengths")

    def _others_came(self) -> bool:
        """Whether the next attempt has come as far as it can: done where nothing was sent, else at its proof."""
        return all(map(self._overtaken, (case for case in self.cases if case.who != "child")))

    def _overtaken(self, case: Case) -> bool:
        if case.where == "step0" or self.pool.task(case.task).ended:
            return self.pool.task(case.task).ended
        waits = case.who == "parent" or why.Reason.OLD_HOLDER.value in case.reasons
        return waits and bool(self.pool.events(case.task, "takeover_proof"))

    def _open_gates(self) -> None:
        for case in self.cases:
            if case.where != "shop":
                self.pool.open_gate(case.reference, case.where)

    def _look(self) -> None:
        facts = why.look(self.pool.store)
        for case in self.cases:
            case.reasons.add(why.decide(self.pool.task(case.task), facts).reason.value)
            if case.child and not case.child_ended_ms and not processes.is_alive(case.child):
                case.child_ended_ms = tasks.now_ms(self.pool.store)

    def _thaw(self) -> None:
        self.thawed_ms = tasks.now_ms(self.pool.store)
        for case in self.cases:
            self.pool.thaw(case.frozen)

    def while_frozen(self, case: Case, *actions: str) -> list[Event]:
        """What the timeline says from the freeze to the thaw."""
        return [e for e in self.pool.events(case.task, *actions) if self.frozen_ms <= e.at_ms < self.thawed_ms]

    def afterwards(self, case: Case) -> list[Event]:
        """What the timeline says since the thaw."""
        return [e for e in self.pool.events(case.task) if e.at_ms >= self.thawed_ms]


@pytest.fixture(scope="module")
def freezer(request: pytest.FixtureRequest) -> Iterator[Freezer]:
    """Every selected case, frozen and thawed, its task done."""
    with LivePool(KOALA_LEASE_TTL_S="4") as pool:
        pool.shop.set_manners(slow_store_ms=[{"reference": f"{who}-shop", "ms": STORED_AFTER_MS} for who in WHO])
        pool.scheduler()
        done = Freezer(pool, selected(request, "case"))
        done.run()
        yield done


def of(*who: str) -> list[Case]:
    """The cases in which one of these is frozen."""
    return [case for case in CASES if case.who in who]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_order_is_placed_whoever_was_frozen(freezer: Freezer, case: Case) -> None:
    """Promise 3: one order at the shop, asked for once."""
    pool = freezer.pool
    assert pool.orders(case.reference) == 1, pool.story(case.task)
    assert pool.shop.state()["arrivals"][case.reference] == 1
    assert pool.effect(case.reference).state == "happened"


@pytest.mark.parametrize("case", of("worker", "parent"), ids=str)
def test_a_thawed_holder_changes_nothing(freezer: Freezer, case: Case) -> None:
    """Promise 2: since the thaw its fence is in no word but the report that its processes are gone."""
    pool = freezer.pool
    theirs = [e for e in freezer.afterwards(case) if e.data.get("fence") == case.fence]
    assert {e.action for e in theirs} <= {"attempt_gone"}, pool.story(case.task)
    assert pool.task(case.task).fence != case.fence
    settled = pool.store.client.hget(f"koala:effect:test.order/place_order/{case.reference}", "settled_by")
    assert settled == pool.task(case.task).fence


@pytest.mark.parametrize("case", of("worker", "parent"), ids=str)
def test_a_thawed_holder_ends_its_processes_and_says_so(freezer: Freezer, case: Case) -> None:
    """Its child is gone, and its parent, alive or not, has reported that."""
    assert case.child
    freezer.pool.until_event(case.task, "attempt_gone", fence=case.fence)
    assert not processes.is_alive(case.child)


@pytest.mark.parametrize("case", [case for case in of("worker") if case.where != "step0"], ids=str)
def test_a_frozen_holder_that_could_still_act_is_waited_for_visibly(freezer: Freezer, case: Case) -> None:
    """Its kernel lock is held: the takeover is not proved, nobody says absent, and people are told why it waits."""
    proofs = freezer.while_frozen(case, "takeover_proof")
    # A takeover that came only when the shop had stored it finds it at once, and needs no proof.
    found = case.where == "shop" and freezer.while_frozen(case, "effect_happened")
    assert proofs or found, freezer.pool.story(case.task)
    assert not any(e.data["proved"] for e in proofs)
    assert all("still holds child-" in e.data["why"] for e in proofs)
    assert not freezer.while_frozen(case, "effect_absent")
    assert found or why.Reason.OLD_HOLDER.value in case.reasons


@pytest.mark.parametrize("case", of("parent"), ids=str)
def test_a_child_whose_parent_is_frozen_ends_itself_before_anybody_says_absent(freezer: Freezer, case: Case) -> None:
    """The watchdog outside its event loop ends it when the lease can no longer be trusted."""
    # Its lease has ended within one TTL; the second is for a busy machine. The watch takes three.
    assert 0 < case.child_ended_ms < freezer.frozen_ms + 2 * freezer.pool.ttl_s * 1000
    absent = freezer.pool.events(case.task, "effect_absent")
    proved = [e for e in freezer.pool.events(case.task, "takeover_proof") if e.data["proved"]]
    assert len(absent) == (case.where == "act"), freezer.pool.story(case.task)
    assert all(e.at_ms >= proved[0].at_ms + SETTLE_S * 1000 - 50 for e in absent)


@pytest.mark.parametrize("case", of("child"), ids=str)
def test_a_frozen_child_whose_parent_lives_keeps_its_lease(freezer: Freezer, case: Case) -> None:
    """Nobody else begins: the parent renews, and its deadlines decide."""
    assert not freezer.while_frozen(case, "attempt_started", "attempt_lost", "effect_absent")


@pytest.mark.parametrize("case", [case for case in of("worker", "parent") if case.where == "step0"], ids=str)
def test_a_task_frozen_before_any_act_is_done_before_the_thaw(freezer: Freezer, case: Case) -> None:
    """Nothing was sent, so nobody has to be waited for."""
    assert freezer.while_frozen(case, "task_done"), freezer.pool.story(case.task)
