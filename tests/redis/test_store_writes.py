"""What an attempt writes, and how it ends: refused once its lease is over, all but its last word."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from koala import keys, leases, ledger, switches, tasks
from koala.attempt import Attempt
from koala.leases import Lease, Terms
from tests.support.pool import FACTS, OPERATION, PRICE, TERMS, Pool, unchanged
from tests.support.waiting import until

BRIEF = Terms(ttl_s=0.05, margin_s=0.01)


def over(pool: Pool, lease: Lease) -> Callable[[], bool]:
    return lambda: tasks.now_ms(pool.store) >= lease.expires_ms


WRITES: dict[str, Callable[[Attempt], Any]] = {
    "step": lambda attempt: attempt.step("one"),
    "checkpoint": lambda attempt: attempt.checkpoint("one", "1"),
    "record": lambda attempt: attempt.record("log", {"text": "x"}, {"progress": "1"}),
    "look": lambda attempt: attempt.look(OPERATION, PRICE),
    "look at another": lambda attempt: attempt.look("shop/order/new", PRICE),
    "sent": lambda attempt: attempt.sent(OPERATION, "new", PRICE, False, FACTS),
    "sent again": lambda attempt: attempt.sent(OPERATION, "token", PRICE, False, FACTS),
    "happened": lambda attempt: attempt.settle(OPERATION, 1, "happened", token="token", receipt="1"),
    "confirmed": lambda attempt: attempt.settle(OPERATION, 1, "happened", receipt="1"),
    "absent": lambda attempt: attempt.settle(OPERATION, 1, "absent", quiet=True),
    "profile": lambda attempt: attempt.profile({"state": "clean"}),
    "renew": lambda attempt: attempt.renew(TERMS),
    **{
        outcome: lambda attempt, outcome=outcome: attempt.release(outcome, {})  # type: ignore[misc]
        for outcome in ("done", "failed", "crashed", "parked", "snoozed", "cancelled")
    },
}


def stale(answer: Any) -> bool:
    return answer is None or answer == {"ok": False, "reason": "stale"}


class TestFencedWrites:
    """Promise 2: a worker that was frozen past its lease changes nothing."""

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_whose_lease_ran_out_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, also before anybody has taken over."""
        attempt = pool.sent(pool.running("anna"))
        pool.lapse(attempt.lease)
        with unchanged(pool.store):
            assert stale(WRITES[write](attempt))

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_that_was_overtaken_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, of the same task: its new attempt holds the lease."""
        old = pool.sent(pool.running("anna"))
        pool.start(pool.lose(old))
        with unchanged(pool.store):
            assert stale(WRITES[write](old))

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_whose_profile_went_to_another_task_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, of another task of the profile."""
        old = pool.sent(pool.running("anna"))
        other = pool.submit("anna")
        pool.lose(old)
        pool.start(other)
        with unchanged(pool.store):
            assert stale(WRITES[write](old))

    @pytest.mark.parametrize("write", WRITES)
    def test_in_real_time_the_write_after_the_expiry_is_refused(self, pool: Pool, write: str) -> None:
        """Promise 2, by the store's clock."""
        attempt = pool.start(pool.submit("anna"), terms=BRIEF)
        until(over(pool, attempt.lease), "the end of the lease")
        with unchanged(pool.store):
            assert stale(WRITES[write](attempt))


class TestRelease:
    def test_task_and_lease_end_in_one_step(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        assert attempt.release("done", {"result": '{"id": 1}', "reason": "ok"}) == "done"
        task = pool.task(attempt.task)
        assert (task.status, task.result, task.reason) == ("done", '{"id": 1}', "ok")
        assert leases.held(pool.store) == {}
        assert pool.store.client.exists(keys.lease("profile:anna")) == 0
        assert pool.where(task) == ["done"]
        assert isinstance(pool.acquire(pool.submit("anna")), Lease)

    @pytest.mark.parametrize("outcome", ["done", "failed", "crashed", "parked", "snoozed", "cancelled"])
    def test_the_same_fence_again_answers_the_same_and_writes_nothing(self, pool: Pool, outcome: str) -> None:
        """Also when the task has moved on since."""
        attempt = pool.running("anna")
        first = attempt.release(outcome, {"backoff_ms": 0})
        with unchanged(pool.store):
            assert attempt.release(outcome, {"backoff_ms": 0}) == first
        if first == "ready":
            pool.start(attempt.task)
            with unchanged(pool.store):
                assert attempt.release(outcome, {}) == first

    def test_missing_details_do_not_leave_a_task_between_two_states(self, pool: Pool) -> None:
        """A script that fails half way is not undone: what could fail is looked at first."""
        attempt = pool.running("anna")
        details = {"reason": None, "result": None, "error": None, "backoff_ms": None}
        with unchanged(pool.store):
            with pytest.raises(Exception, match="needs its question"):
                attempt.release("review", {"reason": "x", "question": None})
            with pytest.raises(Exception, match="no such outcome"):
                attempt.release("lost", {})
        assert attempt.release("failed", details) == "later"
        assert pool.where(attempt.task) == ["later"]

    def test_an_error_text_that_is_no_unicode_does_not_stop_it(self, pool: Pool) -> None:
        """Pages hold halves of surrogate pairs, and browsers quote them in errors."""
        attempt = pool.running()
        assert attempt.release("failed", {"error": "page said \ud83d", "backoff_ms": 0}) == "later"
        assert pool.task(attempt.task).error == "page said ?"


class TestGone:
    def test_the_word_that_all_processes_are_gone_needs_no_lease(self, pool: Pool) -> None:
        """V16: refused as every other write of a lost holder, it would leave its successor waiting for ever."""
        old = pool.sent(pool.running("anna"))
        pool.start(pool.lose(old))
        old.gone("reaped")
        report = leases.gone_report(pool.store, old.task.id, old.fence)
        assert report
        assert (report["by"], report["because"]) == ("w1", "reaped")

    def test_it_is_written_once_and_never_changed(self, pool: Pool) -> None:
        attempt = pool.running()
        assert leases.gone(pool.store, attempt.task.id, attempt.fence, "w1", "reaped") is True
        with unchanged(pool.store):
            assert leases.gone(pool.store, attempt.task.id, attempt.fence, "eva", "other") is False

    def test_it_names_an_attempt_that_was(self, pool: Pool) -> None:
        attempt = pool.running()
        with unchanged(pool.store):
            assert leases.gone(pool.store, attempt.task.id, "1.99", "eva", "sure") is None
            assert leases.gone(pool.store, "nothing", attempt.fence, "eva", "sure") is None
        assert leases.gone_report(pool.store, attempt.task.id, attempt.fence) is None

    def test_it_changes_nothing_but_the_report(self, pool: Pool) -> None:
        """The one unfenced write names only itself."""
        attempt = pool.sent(pool.running("anna"))
        before = (pool.task(attempt.task), leases.held(pool.store), ledger.of_task(pool.store, attempt.task.id))
        attempt.gone("reaped")
        assert before == (
            pool.task(attempt.task),
            leases.held(pool.store),
            ledger.of_task(pool.store, attempt.task.id),
        )


class TestSteps:
    def test_a_step_with_a_checkpoint_is_not_done_again(self, pool: Pool) -> None:
        attempt = pool.running()
        assert attempt.step("one") == {"ok": True, "go": "go"}
        assert attempt.checkpoint("one", '{"a": []}') == {"ok": True}
        again = pool.start(pool.lose(attempt))
        with unchanged(pool.store):
            assert again.step("one") == {"ok": True, "go": "saved", "value": '{"a": []}'}

    def test_the_first_value_of_a_step_stays(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.checkpoint("one", "1")
        with unchanged(pool.store):
            assert attempt.checkpoint("one", "2")["ok"]
        assert attempt.step("one")["value"] == "1"

    @pytest.mark.parametrize("switch", ["pool", "workflow:shop", "profile:anna", "worker:w1"])
    def test_a_paused_task_begins_no_new_step(self, pool: Pool, switch: str) -> None:
        attempt = pool.running("anna")
        attempt.checkpoint("one", "1")
        switches.turn_on(pool.store, switch, "eva")
        with unchanged(pool.store):
            assert attempt.step("two") == {"ok": True, "go": "paused", "switch": switch}
            assert attempt.step("one")["go"] == "saved"

    def test_an_attempt_writes_no_field_of_the_record_but_progress(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.record("", {}, {"progress": '{"done":1}', "status": "done", "attempts": "9"})
        task = pool.task(attempt.task)
        assert (task.progress, task.status, task.attempts) == ('{"done":1}', "running", 0)

    def test_what_is_known_of_a_profile_is_added_up(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        attempt.profile({"state": "open"})
        attempt.profile({"major": 156})
        text = str(pool.store.client.hget(keys.PROFILES, "anna"))
        assert '"state":"open"' in text
        assert '"major":156' in text
