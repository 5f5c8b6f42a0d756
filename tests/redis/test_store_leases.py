"""Leases: one holder, and a fence that only grows."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from koala import counts, keys, leases, switches, tasks, timeline
from koala.clock import boottime
from koala.fence import Fence
from koala.leases import Lease, Terms
from tests.support.pool import TERMS, Pool, unchanged
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
        answers: list[Lease | str] = []

        def granted() -> bool:
            answers.append(pool.acquire(second))
            return isinstance(answers[-1], Lease)

        until(granted, "the second holder")
        *early, last = answers
        assert set(early) <= {"held"}
        assert isinstance(last, Lease)
        assert last.expires_ms - TERMS.ttl_ms >= old.expires_ms

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

    def test_a_store_that_has_not_given_what_was_seen_gives_nothing_however_often_it_is_asked(self, pool: Pool) -> None:
        """Its counter must not move: past the fence that was seen nobody would notice any more that it went back."""
        seen = Fence.parse(pool.running().fence)
        task = pool.submit()
        for ahead in (Fence(seen.epoch, seen.counter + 1), Fence(seen.epoch + 1, 0)):
            for _ in range(3):
                with unchanged(pool.store):
                    assert pool.acquire(task, seen=ahead) == "went_back"
        lease = pool.acquire(task, seen=seen)
        assert isinstance(lease, Lease)
        assert Fence.parse(lease.fence) > seen

    def test_what_was_seen_before_a_declared_restore_is_below_the_new_epoch(self, pool: Pool) -> None:
        seen = Fence.parse(pool.running().fence)
        pool.store.client.set(keys.EPOCH, seen.epoch + 1)
        pool.store.client.delete(keys.FENCE)
        assert isinstance(pool.acquire(pool.submit(), seen=seen), Lease)

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
        own = [keys.lease("profile:anna"), keys.LEASES, keys.attempts(attempt.task.id), *counts.own_keys("dev")]
        call = ("rescue", [*attempt.task.block, *own], attempt.task.id, "profile:anna", "1")
        with unchanged(pool.store):
            assert pool.store.run(*call, attempt.fence) == {"ok": False, "reason": "held"}
            assert pool.store.run(*call, "an older fence") == {"ok": False, "reason": "moved"}
        attempt.release("done", {})
        with unchanged(pool.store):
            assert pool.store.run(*call, attempt.fence) == {"ok": False, "reason": "status", "status": "done"}

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
