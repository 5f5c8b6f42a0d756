"""Any order of what schedulers, slots, children, sites and people may do: what must hold after each step of it.

The outside world is an oracle: an act that was allowed reaches the site now, later, or never, when its process is
killed first. A takeover and a person say what the world shows them. Late jobs, lost workers that come back, doubled
answers and repeated calls are part of it.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from koala import keys, leases, ledger, reviews, switches, tasks
from koala.attempt import Attempt
from koala.errors import Refused
from koala.fence import Fence
from koala.reviews import Answer
from koala.store import Store
from tests.support.pool import FACTS, TERMS, Pool
from tests.support.snapshot import Snapshot
from tests.support.world import World

SLOTS = {"s1": ("shop@1",), "s2": ("shop@1",), "s3": ("shop@1", "other@1")}
CLASSES = {"s1": "one", "s2": "one", "s3": "two"}
OPERATIONS = tuple(f"shop/order/k{number}" for number in range(4))
DESCRIPTIONS = (ledger.canonical({"price": 1}), ledger.canonical({"price": 2}))
SWITCHES = ("pool", "workflow:shop", "profile:anna", "worker:w1")
AHEAD_MS = 10_000_000

OUTCOMES = ("done", "failed", "crashed", "parked", "snoozed", "cancelled")
MOVES = (
    *("gate", "gate", "acts", "settle", "settle", "step", "renew", "lapse", "killed"),
    *("ask", "ask", "release", "release"),
)
DUTIES = ("hand_over", "make_due", "pass_the_deadline", "lose_the_delivery", "rescue", "rescue")
WISHES = ("cancel", "retry", "pause", "resume", "resume", "decide", "deliver", "deliver", "doubt")
TAIL = ("act", "act", "decide", "decide", "deliver", "deliver", "doubt", "gate", "settle", "ask")

pick = st.integers(0, 1000)
small = st.integers(0, 5)


class Machine(RuleBasedStateMachine):
    """The rules."""

    store: Store

    def __init__(self) -> None:
        super().__init__()
        self.store.client.flushdb()
        self.store.run("open_store", [keys.SCHEMA, keys.EPOCH], 1)
        self.pool = Pool(self.store)
        for name, runs in SLOTS.items():
            self.pool.slot(name, runs, CLASSES[name])
        self.world = World()
        self.made: list[str] = []
        self.attempts: list[Attempt] = []
        self.tokens: dict[tuple[str, str], str] = {}
        self.mail: list[tuple[str, int, Answer]] = []
        self.highest = Fence(0, 0)

    # What there is to pick from

    def some(self, number: int) -> tasks.Task:
        return self.pool.task(self.made[number % len(self.made)])

    def current(self, attempt: Attempt) -> bool:
        lease = leases.held(self.store).get(attempt.lease.resource)
        return bool(lease and lease["fence"] == attempt.fence)

    def running(self, number: int) -> Attempt | None:
        """An attempt that holds its lease: one that runs, or a new one of a task that waits."""
        held = [attempt for attempt in self.attempts if self.current(attempt)]
        waiting = [task for task in tasks.many(self.store, self.made) if task.status in ("ready", "handed")]
        at = number % (len(held) + len(waiting) or 1)
        if at < len(held):
            return held[at]
        return self.begin(waiting[at - len(held)], repeat=False) if waiting else None

    def begin(self, task: tasks.Task, *, repeat: bool) -> Attempt | None:
        """Acquire, on a slot that is free; None when that is refused."""
        held = leases.held(self.store)
        used = {lease["slot"] for lease in held.values()}
        slot = next((slot for slot in SLOTS if slot not in used), None)
        if not slot:
            return None
        token = self.pool.token()
        lease = self.pool.acquire(task, slot=slot, token=token)
        if isinstance(lease, str):
            return None
        assert task.status in ("ready", "handed"), "only a task that waits is started"
        assert task.resource not in held, "one holder"
        fence = Fence.parse(lease.fence)
        assert fence > self.highest, "a fence only grows"
        self.highest = fence
        if repeat:
            again = self.pool.acquire(task, slot=slot, token=token)
            assert isinstance(again, leases.Lease)
            assert again.fence == lease.fence
        self.attempts.append(Attempt(self.store, task, lease, "w1"))
        return self.attempts[-1]

    # Who does what

    @rule(
        profile=st.sampled_from(["", "anna", "bert"]),
        workflow=st.sampled_from(["shop", "shop", "other"]),
        priority=st.integers(-1, 1),
        attempts=st.integers(1, 3),
        due=st.booleans(),
        deadline=st.booleans(),
    )
    def submit(self, profile: str, workflow: str, priority: int, attempts: int, due: bool, deadline: bool) -> None:
        later = tasks.now_ms(self.store) + AHEAD_MS
        task = self.pool.submit(
            profile,
            workflow=workflow,
            priority=priority,
            max_attempts=attempts,
            due_ms=later if due and deadline else 0,
            deadline_ms=later if deadline else 0,
        )
        self.made.append(task.id)

    @precondition(lambda self: self.made)
    @rule(number=pick, moves=st.lists(st.tuples(st.sampled_from(MOVES), small), min_size=1, max_size=6))
    def attempt(self, number: int, moves: list[tuple[str, int]]) -> None:
        """An attempt that holds its lease goes on for a while; its lease may run out on the way."""
        attempt = self.running(number)
        for move, which in moves if attempt else ():
            getattr(self, move)(attempt, which)

    @precondition(lambda self: self.attempts)
    @rule(number=pick, move=st.sampled_from(MOVES), which=small)
    def old_attempt(self, number: int, move: str, which: int) -> None:
        """Any attempt there ever was says something long after its lease, best while another holds that."""
        held = leases.held(self.store)
        others = [old for old in self.attempts if held.get(old.lease.resource, {}).get("fence", old.fence) != old.fence]
        among = others or self.attempts
        getattr(self, move)(among[number % len(among)], which)

    @precondition(lambda self: self.made)
    @rule(number=pick, repeat=st.booleans())
    def job(self, number: int, repeat: bool) -> None:
        """A delivery, also a doubled or late one, of any task."""
        self.begin(self.some(number), repeat=repeat)

    @precondition(lambda self: self.made)
    @rule(number=pick, move=st.sampled_from(DUTIES))
    def scheduler(self, number: int, move: str) -> None:
        getattr(self, move)(number)

    @precondition(lambda self: self.made)
    @rule(number=pick, move=st.sampled_from(WISHES))
    def person(self, number: int, move: str) -> None:
        getattr(self, move)(number)

    @precondition(lambda self: self.made)
    @rule(number=pick, dies=st.booleans(), tail=st.lists(st.sampled_from(TAIL), max_size=8))
    def question(self, number: int, dies: bool, tail: list[str]) -> None:
        """The way to a question, which chance seldom finds, and what may happen around its answer."""
        attempt = self.running(number)
        if not attempt:
            return
        self.gate(attempt, number % 4)
        self.lapse(attempt, 1)
        if dies:
            self.killed(attempt, 0)
        for move in ("ask", *tail):
            task = self.pool.task(attempt.task)
            attempt = (task.status == "ready" and self.begin(task, repeat=False)) or attempt
            if move in MOVES:
                getattr(self, move)(attempt, number % 4)
            elif move != "act":
                getattr(self, move)(0)
            elif self.world.under_way:
                self.act(number)

    @precondition(lambda self: self.world.under_way)
    @rule(number=pick)
    def act(self, number: int) -> None:
        """What was allowed reaches the site, whatever became of its lease meanwhile."""
        _, operation = self.world.under_way.pop(number % len(self.world.under_way))
        self.world.orders[operation] += 1

    # Duties of the scheduler

    def hand_over(self, number: int) -> None:
        handed = self.pool.hand_over()
        seen = Snapshot(self.store)
        used = Counter(CLASSES[lease["slot"]] for lease in seen.leases.values())
        used.update(task["class"] for task in seen.tasks.values() if task["status"] == "handed")
        room = Counter(CLASSES.values())
        on = set(seen.hash(keys.SWITCHES))
        for task in (seen.tasks[id_] for id_ in handed):
            assert used[task["class"]] <= room[task["class"]], "never more than can start"
            assert not on & {"pool", "worker:w1", f"workflow:{task['workflow']}", f"profile:{task['profile']}"}

    def make_due(self, number: int) -> None:
        task = self.some(number)
        if task.status == "later":
            self.pool.put(task, due_ms=1)
            self.store.client.zadd(keys.index("later"), {task.id: 1})
        tasks.promote(self.store)

    def pass_the_deadline(self, number: int) -> None:
        task = self.some(number)
        if self.store.client.zscore(keys.DEADLINES, task.id) is not None:
            self.pool.put(task, deadline_ms=1)
            self.store.client.zadd(keys.DEADLINES, {task.id: 1})
        tasks.expire(self.store)

    def lose_the_delivery(self, number: int) -> None:
        tasks.unhand(self.store, self.some(number), "lost")

    def rescue(self, number: int) -> None:
        leases.rescue(self.store)

    # Moves of an attempt

    def renew(self, attempt: Attempt, which: int) -> None:
        held = self.current(attempt)
        assert bool(attempt.renew(TERMS)) is held

    def lapse(self, attempt: Attempt, which: int) -> None:
        """Its worker is frozen, or lost; its child may still be there."""
        if self.current(attempt):
            self.pool.lapse(attempt.lease)
        if which % 2:
            leases.rescue(self.store)

    def killed(self, attempt: Attempt, which: int) -> None:
        self.world.kill(attempt.fence)

    def step(self, attempt: Attempt, which: int) -> None:
        held, name = self.current(attempt), "ab"[which % 2]
        assert attempt.step(name)["ok"] is held
        assert attempt.checkpoint(name, "1")["ok"] is held

    def release(self, attempt: Attempt, which: int) -> None:
        outcome = OUTCOMES[which % len(OUTCOMES)]
        held, before = self.current(attempt), self.pool.task(attempt.task)
        if held:
            self.world.kill(attempt.fence)
        status = attempt.release(outcome, {"backoff_ms": AHEAD_MS * (which % 2)})
        assert held or status is None or before.released == attempt.fence
        if status:
            assert attempt.release(outcome, {}) == status

    def ask(self, attempt: Attempt, which: int) -> None:
        """A child asks about an effect as it has found it."""
        operation = OPERATIONS[which % 4]
        seen = attempt.look(operation, DESCRIPTIONS[0])
        if not seen["ok"] or not seen["mine"] or seen["state"] == "happened":
            return
        self.world.kill(attempt.fence)
        kind = "unknown" if seen["state"] == "sent" else "approval"
        quiet = kind == "approval" or (self.world.quiet(operation) and which != 5)
        told = {"description": DESCRIPTIONS[0], "quiet": quiet, "kind": kind, "try": seen["try"]}
        attempt.release("review", {"reason": "asks", "question": self.pool.question(operation, **told)})

    def gate(self, attempt: Attempt, which: int) -> None:
        """A child looks and asks at the gate, with a new token or with the one it had."""
        operation, description = OPERATIONS[which % 4], DESCRIPTIONS[which % 2]
        held = self.current(attempt)
        seen = attempt.look(operation, description)
        assert seen["ok"] is held
        mine = self.tokens.get((attempt.fence, operation))
        token = mine if which > 3 and mine else self.pool.token()
        if not attempt.sent(operation, token, description, False, FACTS)["ok"]:
            return
        assert held, "nobody passes the gate without the lease"
        assert seen["mine"]
        if token == mine:
            return  # the same answer again: a child acts once for each token
        assert seen["state"] in ("planned", "absent")
        self.tokens[attempt.fence, operation] = token
        self.world.acts[operation] += 1
        self.world.under_way.append((attempt.fence, operation))

    def acts(self, attempt: Attempt, which: int) -> None:
        """Its child does what it was allowed, now, and records the receipt or does not get to it."""
        own = [act for act in self.world.under_way if act[0] == attempt.fence]
        for fence, operation in own:
            self.world.under_way.remove((fence, operation))
            self.world.orders[operation] += 1
            if which < 3:
                self.settle_as(attempt, operation, token=self.tokens[fence, operation])

    def settle(self, attempt: Attempt, which: int) -> None:
        """A confirm that says what the site shows."""
        self.settle_as(attempt, OPERATIONS[which % 4])

    def settle_as(self, attempt: Attempt, operation: str, token: str = "") -> None:
        held, effect = self.current(attempt), ledger.entry(self.store, operation)
        if not effect:
            return
        done, quiet = bool(self.world.orders[operation]), self.world.quiet(operation)
        if done:
            reply = attempt.settle(operation, effect.try_, "happened", token=token, receipt="1")
        else:
            reply = attempt.settle(operation, effect.try_, "absent", quiet=quiet)
        if reply["ok"]:
            assert held
            assert effect.task == attempt.task.id
            if not done and effect.state == "sent":
                assert quiet
                self.world.acts[operation] = 0

    # Wishes of people

    def cancel(self, number: int) -> None:
        try:
            tasks.cancel(self.store, self.made[number % len(self.made)], "eva")
        except Refused:
            assert self.some(number).ended

    def retry(self, number: int) -> None:
        before = self.some(number)
        try:
            tasks.retry(self.store, before.id, "eva")
        except Refused:
            assert before.status == "done" or not before.ended

    def pause(self, number: int) -> None:
        switches.turn_on(self.store, SWITCHES[number % len(SWITCHES)], "eva")

    def resume(self, number: int) -> None:
        for switch in SWITCHES:
            switches.turn_off(self.store, switch)

    def decide(self, number: int) -> None:
        """A person looks at the site for each open question, and writes an answer that comes later, perhaps twice."""
        for question in reviews.open_questions(self.store):
            if question.kind == "approval":
                answer = Answer.APPROVE
            else:
                answer = Answer.HAPPENED if self.world.orders[question.operation] else Answer.DID_NOT_HAPPEN
            self.mail.append((question.id, question.try_, answer))

    def deliver(self, number: int) -> None:
        for id_, try_, answer in self.mail[-1 - number % 3 :]:
            self.answer(id_, try_, answer)

    def doubt(self, number: int) -> None:
        for question in reviews.open_questions(self.store):
            rejects = question.kind == "approval" and number % 2
            self.answer(question.id, question.try_, Answer.REJECT if rejects else Answer.LOOK_AGAIN)

    def answer(self, id_: str, try_: int, answer: Answer) -> None:
        question = reviews.get(self.store, id_)
        try:
            reviews.answer(self.store, id_, answer, "eva", try_=try_)
        except Refused:
            return
        assert question.state == "open"
        if answer == Answer.DID_NOT_HAPPEN:
            assert question.quiet
            self.world.acts[question.operation] = 0

    # What holds after each of them

    @invariant()
    def nothing_is_done_twice(self) -> None:
        """Promise 3."""
        assert all(number <= 1 for number in self.world.orders.values()), self.world.orders
        assert all(number <= 1 for number in self.world.acts.values()), self.world.acts

    @invariant()
    def the_records_agree(self) -> None:
        Snapshot(self.store).agrees(self.made)

    # And in the end

    def teardown(self) -> None:
        """Promise 4: when everybody does their part, every task ends."""
        if not hasattr(self, "made"):
            return
        for switch in SWITCHES:
            switches.turn_off(self.store, switch)
        self.world.under_way.clear()
        for attempt in self.attempts:
            if self.current(attempt):
                self.pool.lapse(attempt.lease)
        for _ in range(40 * (1 + len(self.made))):
            if self.all_ended():
                break
            self.do_their_part()
        assert self.all_ended(), {id_: self.pool.task(id_) for id_ in self.made if not self.pool.task(id_).ended}
        self.the_records_agree()
        self.nothing_is_done_twice()

    def all_ended(self) -> bool:
        counts = tasks.counts(self.store)
        return all(not counts[status] for status in keys.STATUSES if status not in keys.ENDED)

    def do_their_part(self) -> None:
        leases.rescue(self.store)
        for task in list(tasks.many(self.store, tasks.ids(self.store, "later"))):
            self.make_due(self.made.index(task.id))
        for task in list(tasks.many(self.store, tasks.ids(self.store, "handed"))):
            tasks.unhand(self.store, task, "lost")
        for question in reviews.open_questions(self.store):
            reviews.answer(self.store, question.id, self.truth(question), "eva")
        for id_, slot in zip(self.pool.hand_over(), SLOTS, strict=False):
            lease = self.pool.acquire(self.pool.task(id_), slot=slot)
            assert isinstance(lease, leases.Lease)
            self.finish(Attempt(self.store, self.pool.task(id_), lease, "w1"))

    def truth(self, question: reviews.Question) -> Answer:
        if question.kind == "approval":
            return Answer.APPROVE
        if self.world.orders[question.operation]:
            return Answer.HAPPENED
        return Answer.DID_NOT_HAPPEN if question.quiet else Answer.LOOK_AGAIN

    def finish(self, attempt: Attempt) -> None:
        for operation, sent in attempt.open_effects().items():
            outcome = "happened" if self.world.orders[operation] else "absent"
            assert attempt.settle(operation, sent["try"], outcome, quiet=True, receipt="1")["ok"]
        attempt.release("done", {})


@pytest.fixture
def machine(store: Store) -> type[Machine]:
    return type("Machine", (Machine,), {"store": store})


def test_whatever_order_things_happen_in(machine: Any) -> None:
    """Promises 1 to 4, on the store."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            print_blob=False,
        ),
    )
