"""Promise 8: pausing and draining cut nothing and cost no attempt."""

from __future__ import annotations

from functools import partial

import pytest

from koala import switches, tasks
from koala.tasks import Task
from tests.support.live_pool import LivePool
from tests.support.program import Program, kill


def spent(task: Task) -> tuple[int, int]:
    """Attempts and crashes that were charged."""
    return task.attempts, task.crashes


@pytest.mark.parametrize("switch", ["pool", "workflow:test.order", "profile:ann"])
def test_a_pause_lets_nothing_begin_and_the_resume_finishes_it(pool: LivePool, switch: str) -> None:
    """One task is in a step, one in an act, one waits. The act is finished; the next step and effect are not begun."""
    pool.start(3)
    stepping = pool.errand("test.order", "s", steps=2, gates=["step0"], profile="ann")
    pool.until_at("s", "step0")
    others = {} if switch.startswith("workflow") else {"profile": "ann"}
    waiting = pool.errand("test.order", "w", **others)
    assert switches.turn_on(pool.store, switch, "bob", "a look")
    pool.open_gate("s", "step0")
    pool.until_event(stepping, "attempt_ended", outcome="parked")

    assert len(pool.events(stepping, "step_started")) == 1
    assert not pool.events(stepping, "effect_sent")
    switches.turn_off(pool.store, switch)
    pool.until_done(stepping, waiting)
    assert spent(pool.task(stepping)) == (0, 0)
    assert (pool.orders("s"), pool.orders("w")) == (1, 1)


def test_a_pause_does_not_cut_an_act(pool: LivePool) -> None:
    """Two effects: the first is finished with its receipt, the second waits for the resume."""
    pool.start(1)
    id_ = pool.errand("test.order", "a", effects=2, gates=["act"])
    pool.until_at("a", "act")
    switches.turn_on(pool.store, switches.POOL, "bob")
    waiting = pool.order("b")
    pool.open_gate("a", "act")
    pool.until_event(id_, "attempt_ended", outcome="parked")
    assert (pool.orders("a"), pool.orders("a-1")) == (1, 0)
    assert pool.effect("a").how == "receipt"
    assert pool.task(waiting).status == "ready"

    switches.turn_off(pool.store, switches.POOL)
    pool.until_done(id_, waiting)
    assert spent(pool.task(id_)) == (0, 0)
    assert len(pool.events(id_, "effect_sent")) == 2


def test_a_pause_between_the_hand_over_and_the_lease_gives_the_task_back(pool: LivePool) -> None:
    """It lay in RQ when the pause came."""
    pool.start(1)
    frozen = pool.freeze(*pool.parents())
    id_ = pool.order("h", profile="ann")
    pool.until_status(id_, "handed")
    switches.turn_on(pool.store, "profile:ann", "bob")
    pool.thaw(frozen)
    pool.until_event(id_, "delivery_lost")
    assert not pool.events(id_, "attempt_started")
    switches.turn_off(pool.store, "profile:ann")
    pool.until_done(id_)
    assert pool.orders("h") == 1


def start_two(pool: LivePool, reference: str, gate: str, **more: object) -> tuple[str, Program]:
    """A task that stands at a gate on one worker, which is returned, with a second one beside it."""
    pool.scheduler()
    first = pool.worker(1)
    pool.until_slots(1)
    id_ = pool.errand("test.order", reference, gates=[gate], **more)
    pool.until_at(reference, gate)
    pool.worker(1)
    pool.until_slots(2)
    return id_, first


def test_a_drained_worker_finishes_its_act_and_the_rest_goes_on_elsewhere(pool: LivePool) -> None:
    """SIGTERM in the first of two acts; a second SIGTERM changes nothing; the worker ends with 0."""
    id_, first = start_two(pool, "d", "act", effects=2)
    first.terminate()
    pool.until(lambda: "worker_drains" in first.text, "it drains")
    first.terminate()
    pool.until(lambda: "worker_still_drains" in first.text, "it says that it drains already")
    pool.open_gate("d", "act")
    assert first.wait() == 0
    pool.until_done(id_)

    parked, done = pool.events(id_, "attempt_ended")
    assert (parked.data["outcome"], done.data["outcome"]) == ("parked", "done")
    assert [event.data["how"] for event in pool.events(id_, "effect_happened")] == ["receipt", "receipt"]
    assert not pool.events(id_, "attempt_lost", "attempt_gone")
    assert spent(pool.task(id_)) == (0, 0)
    assert (pool.orders("d"), pool.orders("d-1")) == (1, 1)


def test_a_drained_worker_begins_no_further_step(pool: LivePool) -> None:
    """The step is finished and kept; the next one runs on another worker."""
    id_, first = start_two(pool, "n", "step0", steps=2)
    first.terminate()
    pool.until(lambda: "worker_drains" in first.text, "it drains")
    pool.open_gate("n", "step0")
    assert first.wait() == 0
    pool.until_done(id_)
    first_step, second_step = pool.events(id_, "step_started")
    assert (first_step.data["step"], second_step.data["step"]) == ("step0", "step1")
    assert first_step.data["fence"] != second_step.data["fence"]
    assert spent(pool.task(id_)) == (0, 0)


def test_a_drain_parks_an_attempt_that_only_settles(pool: LivePool) -> None:
    """The settle time of an effect of an earlier attempt is long; the drain does not wait for it."""
    pool.shop.set_manners(error_before_store={"reference": "settling", "times": 1})
    worker = pool.start(1)
    id_ = pool.errand("test.order", "settling", settle_s=500)
    pool.until_event(id_, "takeover_proof", proved=True)
    worker.terminate()
    assert worker.wait() == 0
    parked = pool.events(id_, "attempt_ended")[-1]
    assert parked.data["outcome"] == "parked"
    assert "settles" in parked.data["why"]
    assert pool.effect("settling").state == "sent"
    assert spent(pool.task(id_)) == (1, 0)  # the act that failed


def test_a_drain_gives_back_what_was_delivered_and_not_begun(pool: LivePool) -> None:
    """Its job waits in RQ for the only slot, which is frozen when the drain comes."""
    worker = pool.start(1)
    frozen = pool.freeze(*pool.parents())
    id_ = pool.order("back")
    pool.until_status(id_, "handed")
    worker.terminate()
    pool.thaw(frozen)
    assert worker.wait() == 0
    pool.worker(1)
    pool.until_done(id_)
    assert len(pool.events(id_, "attempt_started")) == 1


def test_the_drain_switch_of_a_worker_ends_it_like_a_signal(pool: LivePool) -> None:
    """`koala drain`: the act is finished, the exit code is 0, the other worker goes on."""
    id_, first = start_two(pool, "switch", "act", effects=2)
    name = pool.events(id_, "attempt_started")[0].data["worker"]
    switches.turn_on(pool.store, switches.name("worker", name), "bob")
    pool.until(lambda: any(slot["draining"] == "1" for slot in pool.slots()), "its slot drains")
    pool.open_gate("switch", "act")
    assert first.wait() == 0
    pool.until_done(id_)
    assert spent(pool.task(id_)) == (0, 0)
    assert (pool.orders("switch"), pool.orders("switch-1")) == (1, 1)


def test_a_drain_that_takes_too_long_ends_a_step_and_costs_nothing(pool: LivePool) -> None:
    """A step that hangs is ended after the soft limit; the task goes on elsewhere."""
    pool.scheduler()
    first = pool.worker(1, KOALA_DRAIN_SOFT_S="1")
    pool.until_slots(1)
    id_ = pool.errand("test.order", "soft", gates=["step0"])
    pool.until_at("soft", "step0")
    first.terminate()
    assert first.wait() == 0
    pool.open_gate("soft", "step0")
    pool.worker(1)
    pool.until_done(id_)
    assert spent(pool.task(id_)) == (0, 0)


@pytest.mark.parametrize("times", [1, 5])
def test_a_worker_told_to_end_while_it_starts_ends_with_0(pool: LivePool, times: int) -> None:
    """Before its slots can listen, too."""
    worker = pool.worker(2)
    pool.until(lambda: "worker_started" in worker.text, "the worker runs")
    for _ in range(times):
        worker.terminate()
    assert worker.wait() == 0


def test_a_drain_while_a_slot_waits_to_be_started_again_ends(pool: LivePool) -> None:
    """Its parent was killed again and again, so the worker holds it back; the drain does not start it."""
    worker = pool.start(1)
    for _ in range(4):
        pool.until(lambda: len(worker.tree()) > 1, "its slot runs")
        died = worker.text.count("slot_died")
        kill(worker.tree()[1].pid)
        pool.until(partial(_died_again, worker, died), "the worker has noticed")
    worker.terminate()
    assert worker.wait() == 0


def _died_again(worker: Program, before: int) -> bool:
    return worker.text.count("slot_died") > before


def test_an_idle_worker_leaves_the_pool_as_it_ends(pool: LivePool) -> None:
    """No slot is listed, no process left, no temporary directory."""
    worker = pool.start(2)
    tree = worker.tree()
    assert len(tree) >= 5
    worker.terminate()
    assert worker.wait() == 0
    assert not pool.slots()
    assert not list(pool.volume.tmp.iterdir())
    assert tasks.counts(pool.store)["running"] == 0
