"""A store that is put back from a backup, and declared, on real processes: V4 and V5.

Promise 3 over a restore: what was done after the backup is not in it. Undeclared: test_undeclared_restore.
"""

from __future__ import annotations

from koala.exits import Exit
from koala.why import why
from tests.support.backup import StoreBackup
from tests.support.live_pool import LivePool


def stopped(pool: LivePool) -> None:
    """Every worker and scheduler is gone."""
    for one in pool.programs():
        one.end()


def test_v4_an_order_that_was_placed_after_the_backup_is_found(pool: LivePool) -> None:
    """Its ledger record was made after it, too. It is not placed again; what was not placed is, once, after a look.

    Where nothing can look, a person is asked: it is neither done blindly nor called absent.
    """
    pool.start(3)
    placed = pool.errand("test.order", "placed", gates=["step0"])
    open_ = pool.errand("test.order", "open", gates=["step0"])
    blind = pool.errand("test.no_confirm", "blind", gates=["act"])
    for name, gate in (("placed", "step0"), ("open", "step0"), ("blind", "act")):
        pool.until_at(name, gate)
    backup = StoreBackup.of(pool)
    pool.open_gate("placed", "step0")
    pool.open_gate("blind", "act")
    pool.until_done(placed, blind)
    assert pool.orders("placed") == 1
    pool.open_gate("open", "step0", "act")
    stopped(pool)

    backup.put_back()
    assert pool.task(placed).status == "running", "as of the backup"
    said = backup.declare()
    assert said.code == 0, said.err
    pool.start(3)
    pool.until_done(placed, open_)
    pool.until_status(blind, "review")

    assert (pool.orders("placed"), pool.shop.state()["arrivals"]["placed"]) == (1, 1)
    assert pool.events(placed, "effect_happened")[-1].data["how"] == "confirm"
    assert not pool.events(placed, "effect_sent")
    actions = pool.actions(placed)
    assert actions.index("restored") < actions.index("effect_doubted") < actions.index("effect_happened")
    assert pool.task(placed).crashes == 0
    assert pool.orders("open") == 1
    question = pool.question(blind)
    assert (question.kind, question.quiet) == ("unknown", True)
    assert "the store was restored" in question.why
    assert pool.orders("blind") == 1


def test_a_frozen_worker_of_before_the_restore_keeps_everything_waiting(pool: LivePool) -> None:
    """V5, and the proof of owner ALL: nobody says absent while somebody from before could still act."""
    worker = pool.start(1)
    id_ = pool.errand("test.order", "frozen", gates=["step0"])
    pool.until_at("frozen", "step0")
    backup = StoreBackup.of(pool)
    frozen = pool.freeze(*(process.pid for process in worker.tree()))
    backup.put_back()
    refused = backup.declare()
    assert (refused.code, "could still act" in refused.err) == (Exit.REFUSED, True), refused.err
    assert backup.declare("--anyway").code == 0
    pool.open_gate("frozen", "step0")
    pool.worker(1)
    pool.until_event(id_, "takeover_proof", proved=False)
    pool.until(lambda: pool.task(id_).waits == "old holder", "it waits as old holder")
    assert "before the restore" in why(pool.store, pool.task(id_)).text
    assert pool.orders("frozen") == 0

    pool.thaw(frozen)  # its trust ended long ago: it ends what it has, and does nothing more
    worker.end()
    pool.until_done(id_)
    assert pool.orders("frozen") == 1
