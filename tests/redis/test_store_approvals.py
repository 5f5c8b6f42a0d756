"""Approvals: for exactly what was described."""

from __future__ import annotations

import json

from koala import ledger, reviews
from koala.attempt import Attempt
from tests.support.pool import OPERATION, PRICE, Pool, refused, unchanged

DEARER = ledger.canonical({"price": 20})


class TestApproval:
    def approved(self, pool: Pool) -> Attempt:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        question = pool.ask(attempt, kind="approval", **{"try": 0})
        assert reviews.answer(pool.store, question.id, reviews.Answer.APPROVE, "eva", note="fine") == "ready"
        return pool.start(attempt.task)

    def test_without_it_the_gate_stays_shut(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        with unchanged(pool.store):
            assert pool.gate(attempt, approval=True) == refused("approval")

    def test_it_opens_the_gate_for_what_was_described(self, pool: Pool) -> None:
        attempt = self.approved(pool)
        assert json.loads(attempt.look(OPERATION, PRICE)["approved"])["by"] == "eva"
        assert pool.gate(attempt, approval=True)["ok"]

    def test_it_does_not_hold_for_another_price(self, pool: Pool) -> None:
        """V25: approved at 19, the price moves to 20."""
        attempt = self.approved(pool)
        assert not attempt.look(OPERATION, DEARER)["approved"]
        with unchanged(pool.store):
            assert pool.gate(attempt, approval=True, description=DEARER) == refused("approval")
            assert pool.gate(attempt, approval=True, description=PRICE) == refused("description")

    def test_the_gate_wants_the_description_that_was_looked_up(self, pool: Pool) -> None:
        """V25, without an approval: what is recorded as sent is what is done."""
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        with unchanged(pool.store):
            assert pool.gate(attempt, description=DEARER) == refused("description")

    def test_it_does_not_hold_for_another_operation(self, pool: Pool) -> None:
        attempt = self.approved(pool)
        assert not attempt.look("shop/order/cart-2", PRICE)["approved"]

    def test_a_rejection_is_remembered_for_that_description(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        question = pool.ask(attempt, kind="approval", **{"try": 0})
        assert reviews.answer(pool.store, question.id, reviews.Answer.REJECT, "eva") == "cancelled"
        other = pool.running()
        assert json.loads(other.look(OPERATION, PRICE)["rejected"])["by"] == "eva"
        assert not other.look(OPERATION, DEARER)["rejected"]
