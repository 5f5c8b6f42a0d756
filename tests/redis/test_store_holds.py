"""A profile in the hands of a command: as exclusive as an attempt."""

from __future__ import annotations

from koala import holds, keys, tasks
from koala.fence import Fence
from koala.leases import Lease
from tests.support.pool import TERMS, TOKEN, Pool, unchanged


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
