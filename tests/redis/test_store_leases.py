"""Leases: one holder, a fence that only grows, and writes that are refused once the term is over."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from koala import holds, keys, leases, ledger, switches, tasks, timeline
from koala.attempt import Attempt
from koala.clock import boottime
from koala.fence import Fence
from koala.leases import Lease, Terms
from tests.support.pool import FACTS, OPERATION, PRICE, TERMS, TOKEN, Pool, unchanged
from tests.support.waiting import until

BRIEF = Terms(ttl_s=0.05, margin_s=0.01)


def over(pool: Pool, lease: Lease) -> Callable[[], bool]:
    return lambda: tasks.now_ms(pool.store) >= lease.expires_ms


class TestOneHolder:
    def test_a_profile_has_one_unexpired_lease(self, pool: Pool) -> None:
        """Promise 1."""
        first, second = pool.submit("anna"), pool.submit("anna")
        attempt = pool.start(first)
        with unchanged(pool.store):
            assert pool.acquire(second, slot="s2") == "held"
        assert leases.held(pool.store).keys() == {"profile:anna"}
        assert leases.held(pool.store)["profile:anna"]["fence"] == attempt.fence

    def test_other_profiles_and_tasks_without_one_are_not_in_the_way(self, pool: Pool) -> None:
        for profile in ("anna", "bert", "", ""):
            pool.running(profile)
        assert len(leases.held(pool.store)) == 4

    def test_a_task_without_a_profile_has_a_lease_on_itself(self, pool: Pool) -> None:
        """V13: delivered three times, it runs once."""
        task = pool.submit()
        pool.start(task)
        with unchanged(pool.store):
            assert [pool.acquire(task, slot=f"s{number}") for number in (2, 3)] == ["status", "status"]
        assert leases.held(pool.store).keys() == {f"task:{task.id}"}

    def test_the_lease_passes_on_at_its_expiry_by_the_stores_clock_and_not_before(self, pool: Pool) -> None:
        """Promise 1, in real time."""
        first, second = pool.submit("anna"), pool.submit("anna")
        old = pool.start(first, terms=Terms(0.15, 0.01)).lease
        answers = []

        def granted() -> bool:
            answers.append((tasks.now_ms(pool.store), pool.acquire(second)))
            return isinstance(answers[-1][1], Lease)

        until(granted, "the second holder")
        early = [answer for at, answer in answers if at < old.expires_ms - 5]
        assert early
        assert set(early) == {"held"}
        assert answers[-1][1].expires_ms - TERMS.ttl_ms >= old.expires_ms  # type: ignore[union-attr]

    def test_a_lease_in_its_last_millisecond_is_over(self, pool: Pool) -> None:
        attempt = pool.start(pool.submit("anna"), terms=BRIEF)
        until(over(pool, attempt.lease), "the end of the lease")
        assert leases.held(pool.store) == {}
        assert attempt.renew(TERMS) is None


class TestAcquire:
    def test_it_starts_the_task_and_names_who_holds_it(self, pool: Pool) -> None:
        task = pool.submit("anna")
        attempt = pool.start(task, slot="s7")
        assert (pool.status(task), pool.task(task).fence, pool.where(task)) == (
            "running",
            attempt.fence,
            ["running"],
        )
        record = leases.held(pool.store)["profile:anna"]
        assert (record["slot"], record["worker"], record["task"]) == ("s7", "w1", task.id)

    def test_the_same_token_again_gives_the_same_lease_and_writes_nothing(self, pool: Pool) -> None:
        task = pool.submit("anna")
        first = pool.acquire(task, token="mine")
        with unchanged(pool.store):
            again = pool.acquire(task, token="mine")
        assert isinstance(first, Lease)
        assert isinstance(again, Lease)
        assert (again.fence, again.expires_ms) == (first.fence, first.expires_ms)

    def test_a_repeated_token_is_not_trusted_beyond_the_lease_it_got_first(self, pool: Pool) -> None:
        """Promise 1: trust counts from before the lease was asked for the first time."""
        task = pool.submit("anna")
        first = pool.acquire(task, token="mine")
        pool.store.client.hincrby(keys.lease(task.resource), "expires_ms", -30_000)  # half of it went by
        again = pool.acquire(task, token="mine")
        assert isinstance(first, Lease)
        assert isinstance(again, Lease)
        assert again.trusted_until < boottime() + 30 - TERMS.margin_s
        assert again.trusted_until > first.trusted_until - 31

    def test_trust_ends_a_margin_before_the_lease(self, pool: Pool) -> None:
        before = boottime()
        lease = pool.start(pool.submit()).lease
        assert before + 59 <= lease.trusted_until <= boottime() + 59

    def test_a_token_of_a_lease_that_ended_gives_nothing(self, pool: Pool) -> None:
        task = pool.submit("anna")
        lease = pool.acquire(task, token="mine")
        assert isinstance(lease, Lease)
        pool.lapse(lease)
        with unchanged(pool.store):
            assert pool.acquire(task, token="mine") == "status"

    def test_a_doubled_job_of_an_ended_task_starts_nothing(self, pool: Pool) -> None:
        """V14."""
        attempt = pool.running("anna")
        attempt.release("done", {})
        with unchanged(pool.store):
            assert pool.acquire(attempt.task) == "status"

    @pytest.mark.parametrize("status", ["later", "review"])
    def test_a_task_that_waits_is_not_started_by_a_late_job(self, pool: Pool, status: str) -> None:
        if status == "later":
            task = pool.submit(due_ms=tasks.now_ms(pool.store) + 60_000)
        else:
            task = pool.task(pool.ask(pool.running(), kind="approval").task)
        with unchanged(pool.store):
            assert pool.acquire(task) == "status"

    @pytest.mark.parametrize("switch", ["pool", "workflow:shop", "profile:anna", "worker:w1"])
    def test_a_pause_keeps_it_from_starting(self, pool: Pool, switch: str) -> None:
        task = pool.submit("anna")
        switches.turn_on(pool.store, switch, "eva")
        with unchanged(pool.store):
            assert pool.acquire(task) == "paused"
        switches.turn_off(pool.store, switch)
        assert isinstance(pool.acquire(task), Lease)

    def test_nothing_starts_while_a_restore_holds_all_leases_back(self, pool: Pool) -> None:
        task = pool.submit()
        pool.store.client.set(keys.HOLD, tasks.now_ms(pool.store) + 60_000)
        with unchanged(pool.store):
            assert pool.acquire(task) == "hold"
        pool.store.client.set(keys.HOLD, tasks.now_ms(pool.store) - 1)
        assert isinstance(pool.acquire(task), Lease)

    def test_without_an_epoch_there_is_no_lease(self, pool: Pool) -> None:
        task = pool.submit()
        pool.store.client.delete(keys.EPOCH)
        with unchanged(pool.store):
            assert pool.acquire(task) == "epoch"


class TestFence:
    def test_it_only_grows_over_all_profiles(self, pool: Pool) -> None:
        fences = [Fence.parse(pool.running(profile).fence) for profile in ("a", "", "b", "", "c", "")]
        assert fences == sorted(set(fences))

    def test_it_is_compared_as_epoch_then_counter(self, pool: Pool) -> None:
        """V7: a restore puts the counter back, and the new epoch still makes the fence the higher one."""
        old = [Fence.parse(pool.running().fence) for _ in range(11)][-1]
        pool.store.client.set(keys.EPOCH, old.epoch + 1)
        pool.store.client.set(keys.FENCE, 0)
        new = Fence.parse(pool.running().fence)
        assert new.counter < old.counter
        assert new > old

    def test_the_first_epoch_is_the_time_of_creation(self, pool: Pool) -> None:
        assert abs(int(pool.store.client.get(keys.EPOCH) or 0) - tasks.now_ms(pool.store)) < 60_000


class TestRenew:
    def test_it_lengthens_a_lease_that_is_held(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        asked, before = boottime(), attempt.lease.expires_ms
        lease = attempt.renew(Terms(90, 2))
        assert lease
        assert lease.expires_ms >= before + 29_000
        assert asked + 88 <= lease.trusted_until <= boottime() + 88
        assert pool.store.client.zscore(keys.LEASES, "profile:anna") == lease.expires_ms

    def test_an_expired_lease_is_never_revived(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        pool.lapse(attempt.lease)
        with unchanged(pool.store):
            assert attempt.renew(TERMS) is None

    def test_another_fence_is_refused(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        other = Lease("1.1", attempt.lease.resource, attempt.lease.expires_ms, 0)
        with unchanged(pool.store):
            assert leases.renew(pool.store, other, TERMS) is None


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


class TestFencedWrites:
    """Promise 2: a worker that was frozen past its lease changes nothing."""

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_whose_lease_ran_out_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, also before anybody has taken over."""
        attempt = pool.sent(pool.running("anna"))
        pool.lapse(attempt.lease)
        with unchanged(pool.store):
            assert refused(WRITES[write](attempt))

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_that_was_overtaken_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, of the same task: its new attempt holds the lease."""
        old = pool.sent(pool.running("anna"))
        pool.start(pool.lose(old))
        with unchanged(pool.store):
            assert refused(WRITES[write](old))

    @pytest.mark.parametrize("write", WRITES)
    def test_a_holder_whose_profile_went_to_another_task_changes_nothing(self, pool: Pool, write: str) -> None:
        """Promise 2, of another task of the profile."""
        old = pool.sent(pool.running("anna"))
        other = pool.submit("anna")
        pool.lose(old)
        pool.start(other)
        with unchanged(pool.store):
            assert refused(WRITES[write](old))

    @pytest.mark.parametrize("write", WRITES)
    def test_in_real_time_the_write_after_the_expiry_is_refused(self, pool: Pool, write: str) -> None:
        """Promise 2, by the store's clock."""
        attempt = pool.start(pool.submit("anna"), terms=BRIEF)
        until(over(pool, attempt.lease), "the end of the lease")
        with unchanged(pool.store):
            assert refused(WRITES[write](attempt))


def refused(answer: Any) -> bool:
    return answer is None or answer == {"ok": False, "reason": "stale"}


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


class TestRescue:
    def test_a_running_task_whose_lease_ended_can_run_again(self, pool: Pool) -> None:
        """Promise 4."""
        lost, lives = pool.running("anna"), pool.running("bert")
        pool.lapse(lost.lease)
        assert leases.rescue(pool.store) == [(lost.task.id, "ready")]
        assert pool.where(lost.task) == ["ready"]
        assert pool.status(lives.task) == "running"
        with unchanged(pool.store):
            assert leases.rescue(pool.store) == []

    def test_it_never_takes_a_lease_that_is_held(self, pool: Pool) -> None:
        """However late its caller has looked: the script decides."""
        attempt = pool.running("anna")
        own = [keys.lease("profile:anna"), keys.LEASES, keys.attempts(attempt.task.id)]
        call = ("rescue", [*attempt.task.block, *own], attempt.task.id, "profile:anna", "1")
        with unchanged(pool.store):
            assert pool.store.run(*call) == {"ok": False, "reason": "held"}
        attempt.release("done", {})
        with unchanged(pool.store):
            assert pool.store.run(*call) == {"ok": False, "reason": "status", "status": "done"}

    def test_it_leaves_the_lease_of_the_profiles_next_holder_alone(self, pool: Pool) -> None:
        old = pool.running("anna")
        other = pool.submit("anna")
        pool.lapse(old.lease)
        new = pool.start(other)
        assert leases.rescue(pool.store) == [(old.task.id, "ready")]
        assert leases.held(pool.store)["profile:anna"]["fence"] == new.fence
        assert new.renew(TERMS)

    def test_a_task_whose_lease_record_vanished_is_rescued_too(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        pool.store.client.delete(keys.lease("profile:anna"), keys.LEASES)
        assert leases.rescue(pool.store) == [(attempt.task.id, "ready")]

    def test_the_attempt_says_that_it_was_lost(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        pool.lose(attempt)
        events = {event.action: event.data for event in timeline.read(pool.store, attempt.task.id)}
        assert events["attempt_lost"] == {"fence": attempt.fence, "why": "its worker was lost"}


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


class TestHolds:
    """A person's command holds a profile as an attempt does."""

    def take(self, pool: Pool, token: str = TOKEN, profile: str = "anna") -> Lease | holds.Busy:
        return holds.take(pool.store, profile, "eva on host", token, TERMS)

    def test_no_task_of_the_profile_starts_meanwhile(self, pool: Pool) -> None:
        """Promise 1."""
        lease = self.take(pool)
        assert isinstance(lease, Lease)
        task, other = pool.submit("anna"), pool.submit("bert")
        pool.slot("s1")
        pool.slot("s2")
        assert pool.hand_over() == [other.id]
        with unchanged(pool.store):
            assert pool.acquire(task) == "held"
        assert holds.drop(pool.store, lease)
        assert pool.hand_over() == [task.id]

    def test_it_waits_for_nobody_and_says_who_has_it(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        with unchanged(pool.store):
            busy = self.take(pool)
        assert busy == holds.Busy("held", attempt.fence, attempt.task.id, "w1")
        attempt.release("done", {})
        assert isinstance(self.take(pool), Lease)
        with unchanged(pool.store):
            assert str(self.take(pool, "another")) == "eva on host has it"

    def test_the_same_token_again_gives_the_same_lease_and_writes_nothing(self, pool: Pool) -> None:
        first = self.take(pool)
        with unchanged(pool.store):
            again = self.take(pool)
        assert isinstance(first, Lease)
        assert isinstance(again, Lease)
        assert again.fence == first.fence

    def test_its_fence_is_higher_than_any_before(self, pool: Pool) -> None:
        before = pool.running("anna")
        pool.lose(before)
        lease = self.take(pool)
        assert isinstance(lease, Lease)
        assert Fence.parse(lease.fence) > Fence.parse(before.fence)
        with unchanged(pool.store):
            assert before.profile({"state": "x"})["reason"] == "stale"

    def test_a_hold_that_ran_out_drops_nothing(self, pool: Pool) -> None:
        lease = self.take(pool)
        assert isinstance(lease, Lease)
        pool.lapse(lease)
        attempt = pool.running("anna")
        with unchanged(pool.store):
            assert not holds.drop(pool.store, lease, forget="anna")
        assert attempt.renew(TERMS)

    def test_a_restore_and_a_missing_epoch_keep_it_back(self, pool: Pool) -> None:
        pool.store.client.set(keys.HOLD, tasks.now_ms(pool.store) + 60_000)
        with unchanged(pool.store):
            assert self.take(pool) == holds.Busy("hold")
        pool.store.client.delete(keys.HOLD, keys.EPOCH)
        with unchanged(pool.store):
            assert self.take(pool) == holds.Busy("epoch")

    def test_dropping_may_forget_the_profile(self, pool: Pool) -> None:
        pool.running("anna").profile({"state": "clean"})
        pool.store.client.delete(keys.lease("profile:anna"))
        lease = self.take(pool)
        assert isinstance(lease, Lease)
        assert holds.drop(pool.store, lease, forget="anna")
        assert not pool.store.client.hexists(keys.PROFILES, "anna")


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
