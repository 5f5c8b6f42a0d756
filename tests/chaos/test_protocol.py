"""What broke earlier versions of the effect protocol, on real processes.

| row | what breaks | where it is tested |
| --- | --- | --- |
| V1 | second order in the same attempt | here |
| V2 | second order by a child that resumes its own `sent` | here, and every kill at `effect_sent` in test_kill_matrix |
| V3 | second order by the driver | needs a browser: test_browsers and tests/browser |
| V4 to V8 | restore | test_restore, test_undeclared_restore; each by itself: tests/redis/test_restore* |
| V9 | second order by a person who looked too early | test_answers |
| V10 | an old answer after the proof | test_answers |
| V11 | a doubled answer | test_answers |
| V12 | one key, two tasks on two profiles | here |
| V13 | a task without a profile, delivered three times | here |
| V14 | a doubled job restarts an ended task | here |
| V15 | expiry taken as proof on another machine | here, with a second data volume as the other machine |
| V16 | the end report is refused | here, with a second data volume as the other machine |
| V17 | a warm process after an unknown outcome | here for the child; the browser: test_browsers |
| V18 | a takeover that waits for its own slot's lock | here |
| V19 | a profile kept by a warm browser after the release | needs a browser: tests/browser; the lease: here |
| V20 | a child that outlives its parent | here: at rest, blocked in its workflow, and frozen |
| V21 to V25 | budgets; approval of another price | there are no budgets yet; approvals: test_answers |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from koala import keys, leases, queue
from tests.support import program
from tests.support.data import data_volume
from tests.support.live_pool import PATIENT, LivePool
from tests.support.waiting import until
from worker import processes
from worker.processes import Process


@pytest.fixture(scope="module")
def busy() -> Iterator[LivePool]:
    """A running pool of four slots, shared by the tests that leave it whole."""
    with LivePool(**PATIENT) as pool:
        pool.start(4)
        yield pool


def child(pool: LivePool, id_: str) -> Process:
    """The living child that runs a task."""
    found = processes.find(pool.child_of(id_))
    assert found
    return found


def test_v1_only_a_later_attempt_may_say_absent(busy: LivePool) -> None:
    """The act times out while its request is at the shop: the attempt ends, and the next one finds the order."""
    busy.shop.set_manners(slow_store_ms={"reference": "v1", "ms": 3000})
    id_ = busy.errand("test.order", "v1", act_s=0.5, settle_s=5)
    busy.until_done(id_)

    first, second = busy.events(id_, "attempt_ended")
    assert (first.data["outcome"], second.data["outcome"]) == ("failed", "done")
    assert "unknown" in first.data["why"]
    assert not busy.events(id_, "effect_absent")
    assert busy.effect("v1").how == "confirm"
    assert (busy.orders("v1"), busy.shop.state()["arrivals"]["v1"]) == (1, 1)


def test_v1_an_act_that_failed_is_done_again_by_a_later_attempt_only(busy: LivePool) -> None:
    """The shop refuses once. The look of the same attempt sees nothing, and that counts for nothing."""
    busy.shop.set_manners(error_before_store={"reference": "v1b", "times": 1})
    id_ = busy.errand("test.order", "v1b")
    busy.until_done(id_)

    first, second = (event.data["fence"] for event in busy.events(id_, "effect_sent"))
    assert first != second
    assert busy.events(id_, "effect_absent")[0].data["fence"] == second
    assert (busy.orders("v1b"), busy.shop.state()["arrivals"]["v1b"]) == (1, 2)


def test_v2_a_child_killed_in_its_act_is_not_resumed(busy: LivePool) -> None:
    """Its request is at the shop; the next attempt, of the same parent, looks and does not act."""
    busy.shop.set_manners(slow_store_ms={"reference": "v2", "ms": 2000})
    id_ = busy.errand("test.order", "v2", settle_s=4)
    busy.until_arrived("v2")
    busy.kill_child(id_)
    busy.until_done(id_)

    assert len(busy.events(id_, "effect_sent")) == 1
    assert len({event.data["fence"] for event in busy.events(id_, "attempt_started")}) == 2
    assert (busy.orders("v2"), busy.shop.state()["arrivals"]["v2"]) == (1, 1)


def test_v12_one_key_of_two_tasks_is_one_order(busy: LivePool) -> None:
    """Two profiles, one key. The first task is killed in its act; the other waits for it and takes its receipt."""
    gated = {"key": "v12", "gates": ["act"]}
    one = busy.errand("test.order", "v12", profile="ann", **gated)
    busy.until_at("v12", "act")
    two = busy.errand("test.order", "v12", profile="bob", **gated)
    busy.until_event(two, "attempt_ended", outcome="parked")
    busy.kill_child(one)
    busy.open_gate("v12", "act")
    busy.until_done(one, two)

    assert (busy.orders("v12"), busy.shop.state()["arrivals"]["v12"]) == (1, 1)
    assert busy.result(one) == busy.result(two)
    assert busy.events(two, "receipt_taken")[0].data["of"] == one
    assert not busy.events(two, "effect_sent", "effect_absent")


def push(pool: LivePool, id_: str, copies: int, name: str) -> None:
    """Further deliveries of a task, and wait until slots have taken all of them."""
    line = keys.queue(pool.work_class())
    with queue.connect(pool.redis.socket_url) as connection:
        for number in range(copies):
            assert queue.push(connection, line, id_, f"{id_}-{name}-{number}")
        ours = {f"{id_}-{name}-{number}" for number in range(copies)}

        def gone() -> bool:
            carried = queue.carried(connection, line)
            return not ours & (carried.waiting | carried.taken | carried.started)

        pool.until(gone, "all copies are taken")


def test_v13_a_task_without_a_profile_is_leased_too(busy: LivePool) -> None:
    """Delivered four times while it runs: one attempt."""
    id_ = busy.errand("test.order", "v13", gates=["step0"])
    busy.until_at("v13", "step0")
    push(busy, id_, 3, "copy")
    busy.open_gate("v13", "step0")
    busy.until_done(id_)

    assert len(busy.events(id_, "attempt_started")) == 1
    assert busy.orders("v13") == 1


def test_v14_a_late_delivery_does_not_start_an_ended_task_again(busy: LivePool) -> None:
    """Nor does it change anything of it."""
    id_ = busy.errand("test.order", "v14")
    busy.until_done(id_)
    before = busy.events(id_)
    push(busy, id_, 2, "late")

    assert busy.events(id_) == before
    assert busy.task(id_).status == "done"


@contextmanager
def two_machines(pool: LivePool) -> Iterator[tuple[program.Program, str, str]]:
    """An order that stands before its request on the first machine, and a second one that is ready.

    Yields the first machine's worker, the task and its fence. A data volume of its own makes a machine of its own.
    """
    pool.scheduler()
    first = pool.worker(1)
    pool.until_slots(1)
    id_ = pool.errand("test.order", "far", gates=["act"])
    pool.until_at("far", "act")
    with data_volume() as other:
        pool.worker(1, KOALA_DATA=str(other.path))
        pool.until_slots(2)
        yield first, id_, pool.task(id_).fence
        pool.end_programs()


def test_v15_on_another_machine_only_a_report_is_proof(pool: LivePool) -> None:
    """The worker is killed with all it had. That its lease ended proves nothing; an operator's word does."""
    with two_machines(pool) as (first, id_, fence):
        first.end()
        pool.until_event(id_, "takeover_proof", times=2, proved=False)
        pool.open_gate("far", "act")
        proofs = pool.events(id_, "takeover_proof")
        assert all("another machine" in event.data["why"] for event in proofs)
        assert not pool.events(id_, "effect_absent")
        assert pool.shop.state()["arrivals"].get("far", 0) == 0

        assert leases.gone(pool.store, id_, fence, "operator ann", "I pulled its plug")
        pool.until_done(id_)
        assert pool.orders("far") == 1


def test_v16_a_holder_that_lost_its_lease_can_still_say_that_it_is_gone(pool: LivePool) -> None:
    """Thawed, its parent ends its processes; every fenced write is refused, the report is not."""
    with two_machines(pool) as (first, id_, fence):
        frozen = pool.freeze(*(process.pid for process in first.tree()))
        pool.until_event(id_, "takeover_proof", times=2, proved=False)
        assert not pool.events(id_, "effect_absent", "attempt_gone")
        pool.thaw(frozen)
        pool.until_event(id_, "attempt_gone", fence=fence)
        pool.open_gate("far", "act")
        pool.until_done(id_)

        assert pool.orders("far") == 1
        assert pool.shop.state()["arrivals"]["far"] == 1


def test_v17_an_unknown_outcome_leaves_no_warm_process(busy: LivePool) -> None:
    """The child is gone before the next attempt begins, though its workflow would have let it live."""
    busy.shop.set_manners(error_before_store={"reference": "v17", "times": 1}, slow_answer_ms=0)
    id_ = busy.errand("test.order", "v17", gates=["act"])
    busy.until_at("v17", "act")
    was = child(busy, id_)
    busy.open_gate("v17", "act")
    started = busy.until_event(id_, "attempt_started", times=2)

    assert not processes.is_alive(was)
    assert busy.events(id_, "attempt_gone")[0].at_ms <= started.at_ms
    busy.until_done(id_)


def test_v18_a_slot_settles_what_it_left_itself(pool: LivePool) -> None:
    """There is one slot only: its new child proves its old one gone, whose lock has another name."""
    pool.start(1)
    id_ = pool.errand("test.order", "v18", gates=["act"])
    pool.until_at("v18", "act")
    pool.kill_child(id_)
    pool.open_gate("v18", "act")
    pool.until_done(id_)

    assert pool.events(id_, "takeover_proof")[0].data["proved"]
    assert len({event.data["slot"] for event in pool.events(id_, "attempt_started")}) == 1
    assert pool.orders("v18") == 1


def test_v19_a_profile_is_free_for_another_slot_as_soon_as_its_task_ends(busy: LivePool) -> None:
    """The slot that had it is busy with something else; the profile's next task runs on another."""
    first = busy.errand("test.order", "v19-1", profile="cleo")
    busy.until_done(first)
    others = [busy.errand("test.order", f"v19-x{number}", gates=["step0"]) for number in range(2)]
    for number in range(2):
        busy.until_at(f"v19-x{number}", "step0")
    second = busy.errand("test.order", "v19-2", profile="cleo")
    busy.until_done(second)
    for number in range(2):
        busy.open_gate(f"v19-x{number}", "step0")
    busy.until_done(*others)


def _at_rest(pool: LivePool) -> int:
    return pool.parents()[0]


def _blocked(pool: LivePool) -> int:
    id_ = pool.errand("test.hang", "v20", where="step")
    pool.until_at("v20", "hangs")
    return pool.parent_of(id_)


def _frozen(pool: LivePool) -> int:
    id_ = pool.errand("test.order", "v20", gates=["step0"])
    pool.until_at("v20", "step0")
    pool.freeze(pool.child_of(id_))
    return pool.parent_of(id_)


@pytest.mark.parametrize("state", [_at_rest, _blocked, _frozen])
@pytest.mark.parametrize("killed", ["parent", "worker"])
def test_v20_no_child_outlives_its_parent(pool: LivePool, killed: str, state: Callable[[LivePool], int]) -> None:
    """The kernel ends it, whatever it does; also when nobody is left to look for it."""
    worker = pool.start(1)
    parent = state(pool)
    below = processes.children(parent)
    assert below
    program.kill(parent if killed == "parent" else worker.pid)
    until(lambda: not any(map(processes.is_alive, below)), "its child is gone")
