"""The ledger: looking, the gate, and how an effect is settled."""

from __future__ import annotations

import json

import pytest

from koala import keys, ledger, switches, tasks
from tests.support.pool import FACTS, OPERATION, PRICE, Pool, refused, unchanged

DEARER = ledger.canonical({"price": 20})


class TestLook:
    def test_a_new_effect_is_planned_and_belongs_to_its_task(self, pool: Pool) -> None:
        attempt = pool.running()
        seen = attempt.look(OPERATION, PRICE)
        assert (seen["state"], seen["try"], seen["mine"], seen["owner"]) == ("planned", 0, True, attempt.task.id)
        assert not any(seen[name] for name in ("receipt", "approved", "rejected", "sent"))
        entry = pool.effect()
        assert (entry.state, entry.task, entry.description) == ("planned", attempt.task.id, {"price": 19})
        with unchanged(pool.store):
            assert attempt.look(OPERATION, PRICE) == seen

    def test_looking_allows_nothing(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        assert ledger.open_of_task(pool.store, attempt.task.id) == {}

    def test_a_sent_effect_shows_who_sent_it_and_what_has_to_be_proved(self, pool: Pool) -> None:
        attempt = pool.takeover()
        seen = attempt.look(OPERATION, PRICE)
        assert (seen["state"], seen["try"], seen["mine"]) == ("sent", 1, True)
        sent = json.loads(seen["sent"])
        assert {name: sent[name] for name in FACTS} == FACTS
        assert sent["fence"] != attempt.fence
        assert attempt.open_effects()[OPERATION]["k"] == "K"

    def test_a_sent_effect_keeps_the_description_it_was_sent_with(self, pool: Pool) -> None:
        attempt = pool.takeover()
        attempt.look(OPERATION, DEARER)
        assert pool.effect().description == {"price": 19}

    def test_it_follows_a_key_that_moves_while_it_looks(self, pool: Pool) -> None:
        """The script refuses what its caller saw wrongly; the caller looks again."""
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        other = pool.running()
        own = [
            keys.effect(OPERATION),
            keys.timeline(other.task.id),
            keys.task_effects(other.task.id),
            keys.EFFECTS,
            keys.lease(other.task.resource),
            keys.task(other.task.id),
            keys.task(other.task.id),
            keys.open_effects(other.task.id),
            keys.RESTORED,
        ]
        args = (other.fence, other.task.id, OPERATION, "hash", PRICE)
        with unchanged(pool.store):
            assert pool.store.run("effect_look", own, *args, "", "") == refused("moved", owner=attempt.task.id)
            assert other.look(OPERATION, PRICE)["owner"] == attempt.task.id


class TestGate:
    def test_what_may_act_is_durable_before_the_answer(self, pool: Pool) -> None:
        """Promise 3, the store's part of it."""
        attempt = pool.running("anna")
        attempt.look(OPERATION, PRICE)
        assert pool.gate(attempt) == {"ok": True, "try": 1}
        entry = pool.effect()
        assert (entry.state, entry.try_) == ("sent", 1)
        assert entry.sent
        assert entry.sent["fence"] == attempt.fence
        assert list(attempt.open_effects()) == [OPERATION]

    def test_the_same_token_again_gets_the_same_answer_and_writes_nothing(self, pool: Pool) -> None:
        attempt = pool.sent(pool.running())
        with unchanged(pool.store):
            assert pool.gate(attempt) == {"ok": True, "try": 1}

    def test_the_same_token_after_the_lease_gets_no_ok(self, pool: Pool) -> None:
        """Promise 3: a late ok is a licence to act beside the successor."""
        attempt = pool.sent(pool.running("anna"))
        pool.lapse(attempt.lease)
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("stale")

    def test_a_sent_under_ones_own_fence_is_unknown_too(self, pool: Pool) -> None:
        """V2: a child that replaces another under the same fence has no token of that act."""
        attempt = pool.sent(pool.running())
        with unchanged(pool.store):
            assert attempt.look(OPERATION, PRICE)["state"] == "sent"
            assert pool.gate(attempt, token="replacement") == refused("state", state="sent")
            assert attempt.settle(OPERATION, 1, "absent") == refused("quiet")
            assert attempt.settle(OPERATION, 1, "happened", token="replacement") == refused("token")

    def test_a_token_is_for_one_act(self, pool: Pool) -> None:
        """A gate call that comes late, after its try was settled, opens no second one."""
        attempt = pool.takeover()
        attempt.settle(OPERATION, 1, "absent", quiet=True)
        with unchanged(pool.store):
            assert pool.gate(attempt, token="token") == refused("token", state="absent")
        pool.sent(attempt, token="second")
        attempt.settle(OPERATION, 2, "happened", token="second", receipt="1")
        with unchanged(pool.store):
            assert pool.gate(attempt, token="second") == refused("token", state="happened")

    def test_what_happened_is_never_sent_again(self, pool: Pool) -> None:
        """Promise 3."""
        attempt = pool.sent(pool.running())
        pool.receipt(attempt)
        with unchanged(pool.store):
            assert pool.gate(attempt, token="second") == refused("state", state="happened")

    def test_each_act_after_an_absent_is_a_try_of_its_own(self, pool: Pool) -> None:
        task = pool.unknown()
        for try_ in (1, 2, 3):
            attempt = pool.start(task)
            assert attempt.settle(OPERATION, try_, "absent", quiet=True)["ok"]
            pool.sent(attempt, token=f"act {try_ + 1}")
            assert pool.effect().try_ == try_ + 1
            assert attempt.release("failed", {"reason": "unknown", "backoff_ms": 0}) == "later"
            pool.put(task, attempts=0)
            pool.store.client.zadd(keys.index("later"), {task.id: 1})
            assert tasks.promote(pool.store) == 1

    @pytest.mark.parametrize("switch", ["pool", "workflow:shop", "profile:anna", "worker:w1"])
    def test_it_is_shut_while_paused(self, pool: Pool, switch: str) -> None:
        attempt = pool.running("anna")
        attempt.look(OPERATION, PRICE)
        switches.turn_on(pool.store, switch, "eva")
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("paused", switch=switch)
        switches.turn_off(pool.store, switch)
        assert pool.gate(attempt)["ok"]

    def test_a_pause_does_not_stop_what_was_allowed_before(self, pool: Pool) -> None:
        """Promise 8."""
        attempt = pool.sent(pool.running("anna"))
        switches.turn_on(pool.store, "pool", "eva")
        assert pool.receipt(attempt) == {"ok": True}
        assert attempt.release("done", {}) == "done"

    def test_an_effect_that_was_never_looked_at_is_not_sent(self, pool: Pool) -> None:
        attempt = pool.running()
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("bound", owner=False)

    def test_a_task_that_is_wanted_to_end_begins_no_act(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        tasks.cancel(pool.store, attempt.task.id, "eva")
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("wanted", wanted="cancelled")

    def test_a_task_that_does_not_run_under_this_fence_begins_none(self, pool: Pool) -> None:
        """A belt: no script leaves a lease behind like this."""
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        pool.put(attempt.task, status="ready")
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("status", status="ready")
        pool.put(attempt.task, status="running", fence="1.1")
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("status", status="running")

    def test_an_older_epoch_begins_none(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        pool.store.client.incr(keys.EPOCH)
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("epoch")

    def test_with_no_attempt_left_it_is_shut(self, pool: Pool) -> None:
        attempt = pool.running(max_attempts=2)
        attempt.look(OPERATION, PRICE)
        pool.put(attempt.task, attempts=2)
        with unchanged(pool.store):
            assert pool.gate(attempt) == refused("attempts")


class TestSettle:
    def test_a_receipt_needs_the_token_of_its_act(self, pool: Pool) -> None:
        attempt = pool.sent(pool.running())
        with unchanged(pool.store):
            assert pool.receipt(attempt, token="another") == refused("token")
        assert pool.receipt(attempt) == {"ok": True}
        assert (pool.effect().state, pool.effect().receipt, pool.effect().how) == (
            "happened",
            {"order": 1},
            "receipt",
        )
        assert attempt.open_effects() == {}

    def test_a_takeover_may_confirm_that_it_happened_without_proof(self, pool: Pool) -> None:
        attempt = pool.takeover()
        assert attempt.settle(OPERATION, 1, "happened", receipt='{"order": 7}') == {"ok": True}
        assert (pool.effect().receipt, pool.effect().how) == ({"order": 7}, "confirm")

    def test_absent_is_accepted_only_after_proof_and_settle(self, pool: Pool) -> None:
        """Promise 3."""
        attempt = pool.takeover()
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 1, "absent") == refused("quiet")
        assert attempt.settle(OPERATION, 1, "absent", quiet=True) == {"ok": True}
        assert pool.effect().state == "absent"
        assert attempt.open_effects() == {}

    def test_the_one_who_acted_cannot_say_absent(self, pool: Pool) -> None:
        """V1: with the token of the act in hand, only happened can be recorded."""
        attempt = pool.sent(pool.running())
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 1, "absent", token="token", quiet=True) == refused("quiet")

    @pytest.mark.parametrize("outcome", ["happened", "absent"])
    def test_the_same_settlement_again_writes_nothing(self, pool: Pool, outcome: str) -> None:
        attempt = pool.takeover()
        attempt.settle(OPERATION, 1, outcome, quiet=True, receipt="1")
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 1, outcome, quiet=True, receipt="2") == {"ok": True}

    @pytest.mark.parametrize(("first", "second"), [("happened", "absent"), ("absent", "happened")])
    def test_the_first_settlement_stays(self, pool: Pool, first: str, second: str) -> None:
        attempt = pool.takeover()
        attempt.settle(OPERATION, 1, first, quiet=True, receipt="1")
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 1, second, quiet=True) == refused("state", state=first)

    def test_what_was_never_sent_is_not_settled(self, pool: Pool) -> None:
        attempt = pool.running()
        attempt.look(OPERATION, PRICE)
        with unchanged(pool.store):
            assert attempt.settle(OPERATION, 0, "happened") == refused("state", state="planned")

    def test_a_receipt_without_a_text_is_still_json(self, pool: Pool) -> None:
        attempt = pool.takeover()
        attempt.settle(OPERATION, 1, "happened")
        seen = attempt.look(OPERATION, PRICE)
        assert json.loads(seen["receipt"]) is None

    @pytest.mark.parametrize("end", ["done", "cancelled"])
    def test_a_task_does_not_end_while_an_effect_is_open(self, pool: Pool, end: str) -> None:
        """PROTOCOL 1.2."""
        attempt = pool.sent(pool.running("anna"))
        assert attempt.release(end, {"result": "1"}) == "ready"
        assert pool.task(attempt.task).wanted == end
        again = pool.start(attempt.task)
        again.settle(OPERATION, 1, "happened", receipt="1")
        assert again.release("parked", {}) == end


class TestReading:
    def test_an_operation_is_workflow_effect_and_key(self) -> None:
        assert ledger.operation("shop", "order", "cart/1") == "shop/order/cart/1"

    def test_what_was_never_planned_has_no_entry(self, pool: Pool) -> None:
        assert ledger.entry(pool.store, OPERATION) is None
        assert ledger.of_task(pool.store, "nothing") == []
