"""Operations in the ledger: bound to one task, and kept long enough."""

from __future__ import annotations

import json

import pytest

from koala import keys, ledger, tasks
from tests.support.pool import OPERATION, PRICE, Pool, refused, unchanged

DEARER = ledger.canonical({"price": 20})


class TestKeys:
    """V12: an operation id belongs to one task at a time."""

    def test_a_second_task_with_the_key_neither_sends_nor_settles(self, pool: Pool) -> None:
        """V12: two tasks on two profiles share a key; the fence of each is current on its own profile."""
        first, second = pool.running("anna"), pool.running("bert")
        first.look(OPERATION, PRICE)
        with unchanged(pool.store):
            seen = second.look(OPERATION, PRICE)
            assert (seen["mine"], seen["owner"]) == (False, first.task.id)
            assert pool.gate(second) == refused("bound", owner=first.task.id)
        pool.sent(first)
        with unchanged(pool.store):
            assert pool.gate(second, token="other") == refused("bound", owner=first.task.id)
            for outcome, token in (("absent", ""), ("happened", ""), ("happened", "token")):
                answer = second.settle(OPERATION, 1, outcome, token=token, quiet=True, receipt="1")
                assert answer == refused("bound", owner=first.task.id)

    def test_absent_for_one_try_is_not_accepted_for_the_next(self, pool: Pool) -> None:
        """V12, the same by the other way: every settlement is compare-and-set on state and try."""
        attempt = pool.takeover()
        assert attempt.settle(OPERATION, 1, "absent", quiet=True)["ok"]
        pool.sent(attempt, token="second")
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 1, "absent", quiet=True) == refused("try", **{"try": "2"})

    def test_a_later_task_takes_the_receipt_of_what_happened(self, pool: Pool) -> None:
        pool.receipt(pool.sent(pool.running("anna")))
        second = pool.running("bert")
        with unchanged(pool.store):
            seen = second.look(OPERATION, DEARER)
            assert pool.gate(second)["ok"] is False
        assert (seen["state"], seen["mine"], json.loads(seen["receipt"])) == ("happened", False, {"order": 1})

    @pytest.mark.parametrize("state", ["planned", "absent"])
    def test_a_key_passes_on_when_its_task_ended_without_the_effect(self, pool: Pool, state: str) -> None:
        if state == "planned":
            first = pool.running()
            first.look(OPERATION, PRICE)
        else:
            first = pool.takeover()
            first.settle(OPERATION, 1, "absent", quiet=True)
        second = pool.running()
        assert not second.look(OPERATION, PRICE)["mine"], "not while the first may still act"
        first.release("cancelled", {})
        assert second.look(OPERATION, PRICE)["mine"]
        assert pool.gate(second, token="second")["ok"]

    def test_a_task_that_lost_its_key_and_starts_again_waits(self, pool: Pool) -> None:
        first, second = pool.running(), pool.running()
        first.look(OPERATION, PRICE)
        first.release("cancelled", {})
        pool.sent(second)
        tasks.retry(pool.store, first.task.id, "eva")
        again = pool.start(first.task)
        with unchanged(pool.store):
            assert not again.look(OPERATION, PRICE)["mine"]
            assert pool.gate(again, token="again") == refused("bound", owner=second.task.id)

    def test_a_key_passes_on_when_retention_has_removed_its_task(self, pool: Pool) -> None:
        first = pool.running()
        first.look(OPERATION, PRICE)
        first.release("cancelled", {})
        tasks.forget(pool.store, tasks.now_ms(pool.store) + 1)
        assert pool.running().look(OPERATION, PRICE)["mine"]


class TestRetention:
    OLD, NOW = 1, 9_999_999_999_999

    def test_a_settled_record_goes_after_its_retention(self, pool: Pool) -> None:
        attempt = pool.sent(pool.running())
        pool.receipt(attempt)
        attempt.release("done", {})
        assert ledger.forget(pool.store, self.OLD) == 0
        assert ledger.forget(pool.store, self.NOW) == 1
        assert ledger.entry(pool.store, OPERATION) is None
        assert pool.store.client.zcard(keys.EFFECTS) == 0

    def test_what_is_open_or_can_still_act_stays(self, pool: Pool) -> None:
        """Promise 3: forgetting allows an effect again."""
        pool.sent(pool.running())
        planned = pool.running()
        planned.look("shop/order/planned", PRICE)
        with unchanged(pool.store):
            assert ledger.forget(pool.store, self.NOW) == 0

    def test_retention_counts_from_the_settlement(self, pool: Pool) -> None:
        """An effect planned long ago may have happened yesterday."""
        attempt = pool.sent(pool.running())
        pool.receipt(attempt)
        attempt.release("done", {})
        pool.store.client.zadd(keys.EFFECTS, {OPERATION: 1})
        assert ledger.forget(pool.store, tasks.now_ms(pool.store) - 60_000) == 0
        assert pool.effect().state == "happened"

    def test_records_that_stay_are_not_in_the_way_of_those_that_go(self, pool: Pool) -> None:
        attempt = pool.running()
        for number in range(5):
            pool.sent(attempt, f"shop/order/open-{number}", token=f"open {number}")
        done = pool.running()
        done.look("shop/order/z", PRICE)
        done.release("cancelled", {})
        assert ledger.forget(pool.store, self.NOW, limit=2) == 1
        assert len(ledger.of_task(pool.store, attempt.task.id)) == 5

    def test_a_record_that_moved_to_another_task_stays(self, pool: Pool) -> None:
        first, second = pool.running(), pool.running()
        first.look(OPERATION, PRICE)
        first.release("cancelled", {})
        second.look(OPERATION, PRICE)
        own = [keys.effect(OPERATION), keys.EFFECTS, keys.task(first.task.id)]
        with unchanged(pool.store):
            assert pool.store.run("effect_forget", own, OPERATION, first.task.id, self.NOW) == refused("moved")
