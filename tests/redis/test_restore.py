"""The epoch of a restored store: leases, questions, RQ's keys, and every effect of every task that has not ended.

Promises 1 and 3 over a restore. A backup is taken as Redis itself would: the store's contents at one instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from koala import keys, leases, ledger, restore, reviews, tasks, timeline
from koala.attempt import Attempt
from koala.errors import Refused
from koala.fence import Fence
from koala.leases import Lease, Terms
from koala.restore import Declared, Word
from koala.reviews import Answer
from koala.store import Store
from koala.tasks import Task
from koala.why import Reason, why
from tests.support.backup import Kept
from tests.support.pool import FACTS, OPERATION, PRICE, Pool, refused, unchanged

WORD = Word(by="eva", because="the disk broke", machine="m")
SHORT = Terms(ttl_s=2, margin_s=0.5)
DAY_MS = 86_400_000


def declare(store: Store, elsewhere: int = 0, **more: object) -> Declared:
    """Declare a restore, over at once: the pool's time is moved to its end."""
    epoch = restore.next_epoch(store, elsewhere)
    given = {"ttl_ms": 1, "doubt_ms": DAY_MS, **more}
    declared = restore.declare(store, epoch, WORD, **given)  # type: ignore[arg-type]
    assert declared
    return declared


def over(store: Store) -> None:
    """Let the hold pass."""
    store.client.set(keys.HOLD, 0)


def resumed(pool: Pool, task: Task) -> Attempt:
    """The first attempt after the restore."""
    over(pool.store)
    return pool.start(pool.task(task))


class TestEpoch:
    def test_a_restore_from_one_backup_twice_never_gives_one_fence_twice(self, pool: Pool) -> None:
        """V6: the new epoch comes from outside the backup and is larger than any ever used."""
        task = pool.submit("anna")
        backup = Kept(pool.store)
        seen = set()
        highest = 0
        for _ in range(3):
            backup.put_back()
            highest = declare(pool.store, highest).epoch
            fence = resumed(pool, task).fence
            assert fence not in seen
            seen.add(fence)

    @pytest.mark.parametrize("elsewhere", [10**13, 5 * 10**14])
    def test_it_is_larger_than_what_is_known_elsewhere_also_when_clocks_lie(self, pool: Pool, elsewhere: int) -> None:
        """V6, V7."""
        before = Fence.parse(pool.running().fence)
        after = declare(pool.store, elsewhere).epoch
        assert after > elsewhere
        assert Fence(after, 0) > before

    def test_an_epoch_that_is_not_larger_than_the_stores_is_refused(self, pool: Pool) -> None:
        own = int(pool.store.client.get(keys.EPOCH))
        with unchanged(pool.store):
            assert restore.declare(pool.store, own, WORD, ttl_ms=1, doubt_ms=0) is None

    def test_a_fence_after_a_restore_is_above_one_with_a_higher_counter(self, pool: Pool) -> None:
        """V7: (epoch, counter), compared in that order; the backup's counter has gone back."""
        task = pool.submit("anna")
        backup = Kept(pool.store)
        for _ in range(5):
            before = pool.start(task)
            before.release("parked", {})
        backup.put_back()
        declare(pool.store)
        assert Fence.parse(resumed(pool, task).fence) > Fence.parse(before.fence)


class TestLeases:
    def test_a_lease_of_the_backup_is_void(self, pool: Pool) -> None:
        old = pool.sent(pool.running("anna"))
        declare(pool.store)
        assert leases.held(pool.store) == {}
        with unchanged(pool.store):
            assert leases.renew(pool.store, old.lease, SHORT) is None
            assert pool.receipt(old) == refused("stale")
            assert pool.gate(old, token="second") == refused("stale")
            assert old.checkpoint("one", "1") == refused("stale")
            assert old.release("done", {}) is None

    def test_no_lease_is_given_for_the_longest_there_ever_was(self, pool: Pool) -> None:
        """V5: whoever trusts a lease of before may still act, by its own clock."""
        pool.start(pool.submit("bert"), terms=Terms(ttl_s=40, margin_s=1)).release("done", {})
        task = pool.submit("anna")
        declared = declare(pool.store, ttl_ms=15_000)
        assert declared.hold_s == 40
        assert pool.acquire(task, terms=SHORT) == "hold"
        assert pool.hand_over() == []
        assert why(pool.store, task).reason is Reason.CAPACITY
        pool.store.client.set(keys.HOLD, tasks.now_ms(pool.store))
        assert isinstance(pool.acquire(task), Lease)

    def test_also_for_one_that_is_known_elsewhere_only(self, pool: Pool) -> None:
        """V5: the TTL may have been raised after the backup."""
        assert declare(pool.store, ttl_ms=300_000).hold_s == 300

    def test_declaring_it_to_its_end_again_does_not_hold_longer(self, pool: Pool) -> None:
        epoch = declare(pool.store).epoch
        with unchanged(pool.store):
            pool.store.run("restore_finish", restore._FINISH, str(epoch), 10**9, 0, 0)


class TestEffects:
    """V4: what was done after the backup is not in it."""

    @pytest.fixture
    def task(self, pool: Pool) -> Task:
        return pool.submit("anna")

    def doubted(self, pool: Pool, attempt: Attempt, try_: int) -> None:
        """The attempt finds the effect `sent` by everybody of the older epochs, and cannot act."""
        seen = attempt.look(OPERATION, PRICE)
        assert (seen["state"], seen["try"], seen["mine"]) == ("sent", try_, True)
        assert json.loads(seen["sent"])["owner"] == "ALL"
        assert attempt.open_effects()[OPERATION]["epoch"] == attempt.fence.split(".")[0]
        with unchanged(pool.store):
            assert pool.gate(attempt, token="blind") == refused("state", state="sent")
            assert attempt.settle(OPERATION, try_, "absent") == refused("quiet")
        assert attempt.release("done", {"result": "1"}) == "ready", "it does not end while that is open"

    def test_one_that_was_never_begun(self, pool: Pool, task: Task) -> None:
        declare(pool.store)
        attempt = resumed(pool, task)
        assert not attempt.open_effects(), "nobody knew of it"
        self.doubted(pool, attempt, 1)

    def test_one_that_was_planned(self, pool: Pool, task: Task) -> None:
        pool.start(task).look(OPERATION, PRICE)
        declare(pool.store)
        assert list(ledger.open_of_task(pool.store, task.id)) == [OPERATION], "at once, not only when it is looked at"
        self.doubted(pool, resumed(pool, task), 1)

    def test_one_that_was_sent_by_somebody(self, pool: Pool, task: Task) -> None:
        """Another attempt may have taken it over after the backup, and acted."""
        old = pool.sent(pool.start(task))
        declare(pool.store)
        sent = ledger.open_of_task(pool.store, task.id)[OPERATION]
        assert (sent["owner"], sent["fence"], sent["try"]) == ("ALL", old.fence, 2)
        assert "k" not in sent, "the locks of that one attempt would be proof of too little"
        self.doubted(pool, resumed(pool, task), 2)

    def test_one_that_was_absent(self, pool: Pool, task: Task) -> None:
        pool.lose(pool.sent(pool.start(task)))
        pool.start(task).settle(OPERATION, 1, "absent", quiet=True)
        declare(pool.store)
        self.doubted(pool, resumed(pool, task), 2)

    def test_what_had_happened_stays(self, pool: Pool, task: Task) -> None:
        pool.receipt(pool.sent(pool.start(task)))
        declare(pool.store)
        attempt = resumed(pool, task)
        seen = attempt.look(OPERATION, PRICE)
        assert (seen["state"], seen["receipt"]) == ("happened", '{"order": 1}')
        assert attempt.release("done", {}) == "done"

    def test_once_it_is_settled_it_may_be_done(self, pool: Pool, task: Task) -> None:
        """Quiet and absent: then it is an effect like any other; also when the next attempt looks."""
        declare(pool.store)
        attempt = resumed(pool, task)
        attempt.look(OPERATION, PRICE)
        attempt.settle(OPERATION, 1, "absent", quiet=True)
        attempt.release("parked", {})
        attempt = pool.start(task)
        assert attempt.look(OPERATION, PRICE)["state"] == "absent"
        assert pool.gate(attempt) == {"ok": True, "try": 2}
        assert pool.receipt(attempt, try_=2)["ok"]
        assert attempt.release("done", {}) == "done"

    def test_a_second_restore_doubts_it_anew(self, pool: Pool, task: Task) -> None:
        first = declare(pool.store).epoch
        resumed(pool, task).look(OPERATION, PRICE)
        backup = Kept(pool.store)
        backup.put_back()
        declare(pool.store, first)
        sent = ledger.open_of_task(pool.store, task.id)[OPERATION]
        assert (int(sent["epoch"]) > first, sent["try"]) == (True, 2)

    def test_a_task_that_had_ended_looks_first_when_it_is_started_again(self, pool: Pool, task: Task) -> None:
        """It may have been started again after the backup, too."""
        attempt = pool.start(task)
        attempt.look(OPERATION, PRICE)
        attempt.release("cancelled", {})
        declare(pool.store)
        tasks.retry(pool.store, task.id, "eva")
        self.doubted(pool, resumed(pool, task), 1)

    def test_a_gate_without_a_look_stays_shut(self, pool: Pool, task: Task) -> None:
        """A belt: no child asks like this."""
        attempt = pool.start(task)
        attempt.look(OPERATION, PRICE)
        attempt.release("cancelled", {})
        declare(pool.store)
        tasks.retry(pool.store, task.id, "eva")
        attempt = resumed(pool, task)
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("restored")

    def test_a_new_task_with_the_key_of_a_lost_one_looks_first(self, pool: Pool) -> None:
        """What was accepted after the backup is lost, and will be submitted again."""
        declare(pool.store)
        over(pool.store)
        self.doubted(pool, pool.running("anna"), 1)

    def test_but_not_for_ever(self, pool: Pool) -> None:
        declare(pool.store, doubt_ms=0)
        over(pool.store)
        assert pool.running("anna").look(OPERATION, PRICE)["state"] == "planned"

    def test_and_not_when_its_key_is_its_own_id(self, pool: Pool) -> None:
        """Nobody had that key before."""
        declare(pool.store)
        over(pool.store)
        attempt = pool.running("anna")
        operation = ledger.operation("shop", "order", attempt.task.id)
        assert attempt.look(operation, PRICE)["state"] == "planned"

    def test_a_question_of_the_workflow_is_not_an_act(self, pool: Pool, task: Task) -> None:
        """`run.approved` looks at it, and nobody would ever settle it."""
        operation = ledger.operation("shop", "ask.terms", task.id)
        pool.start(task).look(operation, PRICE)
        declare(pool.store)
        assert ledger.open_of_task(pool.store, task.id) == {}
        attempt = resumed(pool, task)
        assert attempt.look(operation, PRICE)["state"] == "planned"
        assert attempt.release("done", {}) == "done"


class TestTasks:
    def test_what_ran_or_was_handed_over_or_in_review_is_ready(self, pool: Pool) -> None:
        pool.slot("s9")
        running = pool.running("anna").task
        asked = pool.takeover("bert")
        pool.ask(asked)
        handed = pool.submit("carl")
        assert pool.hand_over() == [handed.id]
        later = pool.submit("dora", due_ms=tasks.now_ms(pool.store) + DAY_MS)
        declared = declare(pool.store)
        assert [pool.status(task) for task in (running, asked.task, handed)] == ["ready"] * 3
        assert pool.status(later) == "later"
        assert declared.tasks == 4
        assert declared.effects == 1
        for task in (running, asked.task, handed, later):
            assert len(pool.where(task)) == 1

    def test_it_costs_them_nothing(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        before = pool.task(attempt.task)
        declare(pool.store)
        after = pool.task(attempt.task)
        assert (after.attempts, after.crashes) == (before.attempts, before.crashes)
        record = json.loads(str(pool.store.client.hget(keys.attempts(after.id), attempt.fence)))
        assert (record["outcome"], record["reason"]) == ("lost", "the store was restored")

    def test_their_timeline_says_that_and_why_they_look_first(self, pool: Pool) -> None:
        task = pool.running("anna").task
        declare(pool.store)
        resumed(pool, task).look(OPERATION, PRICE)
        events = {event.action: event.data for event in timeline.read(pool.store, task.id)}
        assert events["restored"]["was"] == "running"
        assert "looked for first" in events["restored"]["why"]
        assert events["effect_doubted"]["operation"] == OPERATION

    def test_a_wanted_end_is_kept_until_the_effect_is_settled(self, pool: Pool) -> None:
        attempt = pool.sent(pool.running("anna"))
        tasks.cancel(pool.store, attempt.task.id, "eva")
        declare(pool.store)
        assert (pool.status(attempt.task), pool.task(attempt.task).wanted) == ("ready", "cancelled")
        again = resumed(pool, attempt.task)
        again.settle(OPERATION, 2, "happened", receipt="1")
        assert again.release("parked", {}) == "cancelled"

    def test_rq_is_flushed_and_nothing_else(self, pool: Pool) -> None:
        pool.store.client.set("rq:job:one", 1)
        pool.store.client.set("request", 1)
        pool.running("anna")
        declare(pool.store)
        assert pool.store.client.keys("rq:*") == []
        assert pool.store.client.get("request") == "1"
        assert pool.store.client.exists(keys.EPOCH, keys.FENCE, keys.RESTORED) == 3


class TestQuestions:
    def test_an_answer_to_a_question_of_the_backup_is_refused(self, pool: Pool) -> None:
        """V8: it was given before, applied after the backup, and comes a second time."""
        attempt = pool.takeover("anna")
        question = pool.ask(attempt)
        backup = Kept(pool.store)
        reviews.answer(pool.store, question.id, Answer.DID_NOT_HAPPEN, "eva")
        pool.sent(pool.start(attempt.task), token="second")
        backup.put_back()
        declare(pool.store)
        with unchanged(pool.store), pytest.raises(Refused, match="not open any more"):
            reviews.answer(pool.store, question.id, Answer.DID_NOT_HAPPEN, "eva")
        assert reviews.get(pool.store, question.id).state == "restored"
        assert reviews.open_questions(pool.store) == []

    def test_a_new_question_has_an_id_that_no_old_one_had(self, pool: Pool) -> None:
        """V8: numbers start again, epochs do not."""
        old = pool.ask(pool.takeover("anna"))
        task = pool.task(old.task)
        declare(pool.store)
        new = pool.ask(resumed(pool, task), **{"try": 2})
        assert new.id.split("-")[0] != old.id.split("-")[0]

    def test_one_that_no_task_knows_of_is_closed_too(self, pool: Pool) -> None:
        question = pool.ask(pool.takeover("anna"))
        pool.put(pool.task(question.task), question="")
        declare(pool.store)
        assert reviews.get(pool.store, question.id).state == "restored"
        assert reviews.open_questions(pool.store) == []


class Killed(Exception):
    """The command that declares is killed."""


class TestKilled:
    """A restore that is killed between any two of its writes stays shut, and is declared again."""

    @pytest.fixture
    def some(self, pool: Pool) -> list[Task]:
        attempts = [pool.sent(pool.running(f"p{number}"), f"shop/order/{number}") for number in range(3)]
        pool.store.client.set("rq:job:one", 1)
        return [attempt.task for attempt in attempts]

    def killed_after(self, store: Store, monkeypatch: pytest.MonkeyPatch, writes: int) -> Iterator[bool]:
        left = [writes]
        run = store.run

        def once(*args: object) -> object:
            if not left[0]:
                raise Killed
            left[0] -= 1
            return run(*args)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(store, "run", once)
            try:
                declare(store)
                yield False
            except Killed:
                yield True

    @pytest.mark.parametrize("writes", range(1, 5))
    def test_nothing_starts_before_it_is_complete(
        self, pool: Pool, some: list[Task], monkeypatch: pytest.MonkeyPatch, writes: int
    ) -> None:
        assert next(self.killed_after(pool.store, monkeypatch, writes))
        last = restore.last(pool.store)
        assert last
        assert not last.complete
        for task in [*some, pool.submit("new")]:
            assert pool.acquire(task) in ("hold", "status")
        pool.slot("s1")
        assert pool.hand_over() == []
        assert "not completed" in why(pool.store, pool.submit("other")).text

        declare(pool.store)
        assert restore.last(pool.store).complete  # type: ignore[union-attr]
        over(pool.store)
        for number, task in enumerate(some):
            seen = pool.start(pool.task(task)).look(f"shop/order/{number}", PRICE)
            assert json.loads(seen["sent"])["owner"] == "ALL"

    def test_carrying_a_task_again_changes_nothing(self, pool: Pool, some: list[Task]) -> None:
        epoch = declare(pool.store).epoch
        with unchanged(pool.store):
            restore.carry(pool.store, epoch)


class TestMachines:
    def test_those_of_slots_and_attempts_are_known(self, pool: Pool) -> None:
        pool.slot("s1", machine="one")
        pool.start(pool.submit("anna"), facts={"machine": "two"})
        pool.start(pool.submit("bert"), facts={"machine": "three"}).release("done", {})
        assert restore.machines(pool.store) == {"one", "two"}

    def test_without_a_restore_there_is_none(self, pool: Pool) -> None:
        assert restore.last(pool.store) is None

    def test_what_was_declared_can_be_read(self, pool: Pool) -> None:
        declared = declare(pool.store)
        last = restore.last(pool.store)
        assert last
        assert (last.epoch, last.complete, last.by, last.because) == (declared.epoch, True, "eva", "the disk broke")
        assert FACTS["machine"] == last.machine
