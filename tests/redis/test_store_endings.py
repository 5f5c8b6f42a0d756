"""How tasks end: cancelled, expired, failed, dead; and how they start again."""

from __future__ import annotations

import pytest

from koala import keys, leases, reviews, tasks
from koala.errors import NotFound, Refused
from tests.support.pool import OPERATION, Pool, refused, unchanged


class TestCancel:
    def test_a_waiting_task_ends_at_once_with_who_and_why(self, pool: Pool) -> None:
        for task in (pool.submit(), pool.submit(due_ms=tasks.now_ms(pool.store) + 60_000)):
            assert tasks.cancel(pool.store, task.id, "eva", "not needed")
            now = pool.task(task)
            assert (now.status, now.reason) == ("cancelled", "cancelled by eva: not needed")
            assert now.ended_ms > 0
            assert pool.where(task) == ["cancelled"]

    def test_a_running_task_only_wants_to_end_and_ends_with_its_attempt(self, pool: Pool) -> None:
        attempt = pool.running()
        assert not tasks.cancel(pool.store, attempt.task.id, "eva")
        assert attempt.step("next") == {"ok": True, "go": "cancelled", "value": "cancelled by eva"}
        assert attempt.release("parked", {"reason": "cancelled"}) == "cancelled"
        assert pool.task(attempt.task).reason == "cancelled by eva"

    def test_cancelling_again_answers_the_same_and_writes_nothing(self, pool: Pool) -> None:
        running, ended = pool.running(), pool.submit()
        for task, at_once in ((running.task, False), (ended, True)):
            assert tasks.cancel(pool.store, task.id, "eva") is at_once
            with unchanged(pool.store):
                assert tasks.cancel(pool.store, task.id, "adam") is at_once

    def test_an_ended_task_is_not_cancelled(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.release("done", {})
        with unchanged(pool.store), pytest.raises(Refused, match="done"):
            tasks.cancel(pool.store, attempt.task.id, "eva")
        with pytest.raises(NotFound):
            tasks.cancel(pool.store, "nothing", "eva")

    def test_the_delivery_of_a_cancelled_task_starts_nothing(self, pool: Pool) -> None:
        pool.slot("s1")
        task = pool.submit()
        pool.hand_over()
        tasks.cancel(pool.store, task.id, "eva")
        with unchanged(pool.store):
            assert pool.acquire(task) == "status"

    def test_a_task_with_an_open_effect_waits_for_its_settlement_and_then_ends(self, pool: Pool) -> None:
        """PROTOCOL 1.2: a task never ends while an effect is `sent`."""
        task = pool.unknown()
        assert not tasks.cancel(pool.store, task.id, "eva")
        assert pool.status(task) == "ready"
        attempt = pool.start(task)
        assert attempt.step("before")["go"] == "go", "it has to get to its effect to settle it"
        assert attempt.settle(OPERATION, 1, "absent", quiet=True)["ok"]
        assert pool.gate(attempt, token="other")["reason"] == "wanted"
        assert attempt.step("after")["go"] == "cancelled"
        assert attempt.release("parked", {"reason": "x"}) == "cancelled"

    def test_a_cancelled_task_in_review_with_nothing_open_ends_and_its_question_closes(self, pool: Pool) -> None:
        question = pool.ask(pool.running(), kind="approval", try_=0)
        assert tasks.cancel(pool.store, question.task, "eva")
        assert reviews.get(pool.store, question.id).state == "withdrawn"
        assert reviews.open_questions(pool.store) == []
        assert pool.task(question.task).question == ""

    def test_an_attempt_that_asks_after_the_cancellation_ends_its_task(self, pool: Pool) -> None:
        """There is nothing left to ask a person about."""
        attempt = pool.running()
        tasks.cancel(pool.store, attempt.task.id, "eva")
        question = pool.question(kind="approval")
        assert attempt.release("review", {"reason": "approve?", "question": question}) == "cancelled"
        assert reviews.open_questions(pool.store) == []


class TestExpire:
    def past(self, pool: Pool, task: tasks.Task) -> None:
        pool.put(task, deadline_ms=1)
        pool.store.client.zadd(keys.DEADLINES, {task.id: 1})

    def test_a_waiting_task_past_its_deadline_ends_as_expired(self, pool: Pool) -> None:
        later = tasks.now_ms(pool.store) + 60_000
        for task in (pool.submit(deadline_ms=later), pool.submit(due_ms=later, deadline_ms=later)):
            self.past(pool, task)
            assert tasks.expire(pool.store) == 1
            assert pool.where(task) == ["expired"]
            assert pool.store.client.zscore(keys.DEADLINES, task.id) is None

    def test_nothing_expires_early(self, pool: Pool) -> None:
        task = pool.submit(deadline_ms=tasks.now_ms(pool.store) + 60_000)
        with unchanged(pool.store):
            assert tasks.expire(pool.store) == 0
            assert pool.store.run("expire", task.block, task.id) == refused("early")

    def test_a_running_one_ends_at_its_next_step(self, pool: Pool) -> None:
        attempt = pool.running(deadline_ms=tasks.now_ms(pool.store) + 60_000)
        self.past(pool, attempt.task)
        assert tasks.expire(pool.store) == 1
        with unchanged(pool.store):
            assert tasks.expire(pool.store) == 0
            assert pool.store.run("expire", attempt.task.block, attempt.task.id)["ok"]
        assert attempt.step("next")["value"] == "its deadline passed"
        assert attempt.release("parked", {}) == "expired"

    def test_one_with_an_open_effect_ends_when_that_is_settled(self, pool: Pool) -> None:
        task = pool.unknown(deadline_ms=tasks.now_ms(pool.store) + 60_000)
        self.past(pool, task)
        tasks.expire(pool.store)
        assert pool.status(task) == "ready"
        attempt = pool.start(task)
        assert attempt.settle(OPERATION, 1, "happened", receipt="1")["ok"]
        assert attempt.release("parked", {}) == "expired"

    def test_the_first_reason_to_end_stays(self, pool: Pool) -> None:
        attempt = pool.running(deadline_ms=tasks.now_ms(pool.store) + 60_000)
        tasks.cancel(pool.store, attempt.task.id, "eva")
        self.past(pool, attempt.task)
        tasks.expire(pool.store)
        assert attempt.release("parked", {}) == "cancelled"

    def test_an_ended_task_has_no_deadline_any_more(self, pool: Pool) -> None:
        task = pool.submit(deadline_ms=tasks.now_ms(pool.store) + 60_000)
        tasks.cancel(pool.store, task.id, "eva")
        assert pool.store.client.zcard(keys.DEADLINES) == 0


class TestRetry:
    @pytest.mark.parametrize("end", ["failed", "cancelled", "dead", "expired"])
    def test_an_ended_task_starts_again_with_its_checkpoints(self, pool: Pool, end: str) -> None:
        attempt = pool.running(max_attempts=1)
        attempt.checkpoint("one", "1")
        if end == "failed":
            assert attempt.release("failed", {"error": "boom"}) == "failed"
        else:
            attempt.release("cancelled", {})
            pool.store.client.zrem(keys.index("cancelled"), attempt.task.id)
            pool.store.client.zadd(keys.index(end), {attempt.task.id: 1})
            pool.put(attempt.task, status=end)
        tasks.retry(pool.store, attempt.task.id, "eva")
        task = pool.task(attempt.task)
        assert (task.status, task.attempts, task.crashes, task.error) == ("ready", 0, 0, "")
        assert pool.where(task) == ["ready"]
        assert pool.start(task).step("one")["go"] == "saved"

    def test_done_and_unended_tasks_are_refused(self, pool: Pool) -> None:
        done, ready = pool.running(), pool.submit()
        done.release("done", {})
        with unchanged(pool.store):
            for task, status in ((done.task, "done"), (ready, "ready")):
                with pytest.raises(Refused, match=f"is {status}"):
                    tasks.retry(pool.store, task.id, "eva")
            with pytest.raises(NotFound):
                tasks.retry(pool.store, "nothing", "eva")


class TestAttemptsAndCrashes:
    def test_failures_of_the_work_spend_attempts_until_the_task_fails(self, pool: Pool) -> None:
        task = pool.submit(max_attempts=2)
        assert pool.start(task).release("failed", {"error": "boom", "backoff_ms": 60_000}) == "later"
        assert pool.task(task).due_ms > tasks.now_ms(pool.store) + 50_000
        self.now(pool, task)
        assert pool.start(task).release("failed", {"error": "boom"}) == "failed"
        assert (pool.task(task).attempts, pool.task(task).error) == (2, "boom")

    def test_a_failure_that_no_attempt_mends_is_the_last(self, pool: Pool) -> None:
        """A person may still have it tried again, with all attempts."""
        task = pool.submit(max_attempts=3)
        assert pool.start(task).release("failed", {"error": "no such article", "final": True}) == "failed"
        assert pool.task(task).attempts == 3
        tasks.retry(pool.store, task.id, "eva")
        assert pool.start(task).release("failed", {"error": "boom"}) == "later"

    def test_one_with_an_open_effect_has_that_settled_first(self, pool: Pool) -> None:
        task = pool.submit(max_attempts=3)
        assert pool.sent(pool.start(task)).release("failed", {"reason": "x", "final": True}) == "later"
        self.now(pool, task)
        attempt = pool.start(task)
        assert attempt.settle(OPERATION, 1, "absent", quiet=True)["ok"]
        assert pool.gate(attempt, token="other")["reason"] == "attempts"
        assert attempt.release("failed", {"reason": "no attempt left"}) == "failed"

    def now(self, pool: Pool, task: tasks.Task) -> None:
        pool.put(task, due_ms=1)
        pool.store.client.zadd(keys.index("later"), {task.id: 1})
        assert tasks.promote(pool.store) == 1

    def test_a_task_that_took_its_worker_down_three_times_is_dead(self, pool: Pool) -> None:
        task = pool.submit()
        for crashes, status in ((1, "ready"), (2, "ready"), (3, "dead")):
            pool.lose(pool.start(task))
            now = pool.task(task)
            assert (now.status, now.crashes, now.attempts) == (status, crashes, 0)
        assert "3 times" in pool.task(task).reason

    def test_a_crash_reported_by_the_parent_counts_like_a_lost_worker(self, pool: Pool) -> None:
        task = pool.submit()
        assert pool.start(task).release("crashed", {"reason": "the browser died"}) == "ready"
        assert (pool.task(task).crashes, pool.task(task).attempts) == (1, 0)

    @pytest.mark.parametrize("outcome", ["parked", "snoozed"])
    def test_parking_costs_nothing(self, pool: Pool, outcome: str) -> None:
        """Promise 8, its second half."""
        task = pool.submit()
        assert pool.start(task).release(outcome, {"reason": "drain"}) == "ready"
        assert pool.start(task).release(outcome, {"reason": "wait", "delay_ms": 60_000}) == "later"
        assert (pool.task(task).crashes, pool.task(task).attempts) == (0, 0)

    def test_a_store_that_was_away_is_nobodys_crash(self, pool: Pool) -> None:
        attempt = pool.running()
        pool.lapse(attempt.lease)
        assert leases.rescue(pool.store, crashed=False) == [(attempt.task.id, "ready")]
        assert pool.task(attempt.task).crashes == 0

    def test_a_dead_task_with_an_open_effect_asks_a_person_instead(self, pool: Pool) -> None:
        task = pool.unknown()
        pool.lose(pool.start(task))
        pool.lose(pool.start(task))
        now = pool.task(task)
        assert (now.status, now.wanted, now.crashes) == ("review", "dead", 3)
        question = reviews.get(pool.store, now.question)
        assert (question.operation, question.try_, question.quiet) == (OPERATION, 1, False)
        assert question.description == {"price": 19}
        assert reviews.answer(pool.store, question.id, reviews.Answer.HAPPENED, "eva") == "dead"

    def test_a_task_without_attempts_left_gets_one_more_to_settle_and_the_gate_stays_shut(self, pool: Pool) -> None:
        task = pool.submit(max_attempts=1)
        assert pool.sent(pool.start(task)).release("failed", {"reason": "unknown"}) == "later"
        self.now(pool, task)
        attempt = pool.start(task)
        assert attempt.settle(OPERATION, 1, "absent", quiet=True)["ok"]
        assert pool.gate(attempt, token="other")["reason"] == "attempts"
        assert attempt.release("failed", {"reason": "no attempt left"}) == "failed"

    def test_one_that_still_cannot_settle_then_asks_a_person(self, pool: Pool) -> None:
        task = pool.submit(max_attempts=1)
        pool.sent(pool.start(task)).release("failed", {"reason": "unknown"})
        self.now(pool, task)
        assert pool.start(task).release("failed", {"reason": "still unknown"}) == "review"
        question = reviews.open_questions(pool.store)[0]
        assert reviews.answer(pool.store, question.id, reviews.Answer.HAPPENED, "eva") == "failed"

    def test_a_workflow_that_ends_without_its_open_effect_runs_once_more_and_then_asks(self, pool: Pool) -> None:
        """It would go round for ever otherwise: `done` may not end it, and nobody settles."""
        task = pool.unknown()
        assert pool.start(task).release("done", {"result": "1"}) == "ready"
        assert pool.task(task).wanted == "done"
        assert pool.start(task).release("done", {"result": "1"}) == "review"
        question = reviews.open_questions(pool.store)[0]
        assert (question.operation, question.quiet) == (OPERATION, False)
        assert reviews.answer(pool.store, question.id, reviews.Answer.HAPPENED, "eva") == "done"
