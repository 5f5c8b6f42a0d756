"""How fast work goes on after a kill. The seconds are recorded and printed; the bounds asserted are generous."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from koala import keys, tasks
from tests.support.live_pool import LivePool
from tests.support.program import Program
from worker import processes

Record = Callable[[str, object], None]


def told(record: Record, fault: str, seconds: float) -> None:
    """Keep a measured time with the test's result, and show it."""
    record("recovery", {"fault": fault, "seconds": round(seconds, 2)})
    print(f"recovery of {fault}: {seconds:.2f} s")


def resumed_after(pool: LivePool, id_: str, killed_ms: int) -> float:
    """Seconds from the kill to the start of the next attempt."""
    return (pool.until_event(id_, "attempt_started", times=2).at_ms - killed_ms) / 1000


@pytest.mark.parametrize("place", ["step0", "act"])
def test_the_task_of_a_killed_child_goes_on_at_once(pool: LivePool, place: str, record_property: Record) -> None:
    """Within about a second; the crash is noticed, not waited for."""
    pool.start(2)
    id_ = pool.errand("test.order", "r1", gates=[place])
    pool.until_at("r1", place)
    killed_ms = tasks.now_ms(pool.store)
    pool.kill_child(id_)
    seconds = resumed_after(pool, id_, killed_ms)
    pool.open_gate("r1", place)
    pool.until_done(id_)

    told(record_property, f"a child killed at {place}", seconds)
    assert [event.data["outcome"] for event in pool.events(id_, "attempt_ended")] == ["crashed", "done"]
    assert not pool.events(id_, "attempt_lost"), "its lease was waited for"
    assert pool.orders("r1") == 1


def test_the_task_of_a_killed_worker_goes_on_when_its_lease_has_ended(pool: LivePool, record_property: Record) -> None:
    """Within the TTL and two seconds, on another worker."""
    pool.scheduler()
    first = pool.worker(1)
    pool.until_slots(1)
    id_ = pool.errand("test.order", "r2", gates=["act"])
    pool.until_at("r2", "act")
    pool.worker(1)
    pool.until_slots(2)
    killed_ms = tasks.now_ms(pool.store)
    first.kill()
    seconds = resumed_after(pool, id_, killed_ms)
    pool.open_gate("r2", "act")
    pool.until_done(id_)

    told(record_property, f"a worker killed, TTL {pool.ttl_s:g} s", seconds)
    assert seconds < pool.ttl_s + 40  # the first figure is what it takes; the second is for a busy machine
    assert pool.orders("r2") == 1


def test_a_killed_slot_comes_back_and_the_others_go_on(pool: LivePool, record_property: Record) -> None:
    """Promise 9: the worker starts it again; the order beside it is not disturbed."""
    worker = pool.start(2)
    hit, beside = (pool.errand("test.order", name, gates=["step0"]) for name in ("hit", "beside"))
    for name in ("hit", "beside"):
        pool.until_at(name, "step0")
    killed_ms = tasks.now_ms(pool.store)
    pool.kill_parent(hit)
    seconds = resumed_after(pool, hit, killed_ms)
    for name in ("hit", "beside"):
        pool.open_gate(name, "step0")
    pool.until_done(hit, beside)

    told(record_property, f"a slot's parent killed, TTL {pool.ttl_s:g} s", seconds)
    assert len(pool.events(beside, "attempt_started")) == 1
    assert worker.exit_code is None


def leader_pid(pool: LivePool) -> str:
    """The facts of whoever schedules; empty when nobody does."""
    return str(pool.store.client.hget(keys.LEADER, "facts") or "")


@pytest.mark.parametrize("how", [Program.kill, Program.terminate])
def test_a_standby_scheduler_takes_over(
    pool: LivePool, how: Callable[[Program], None], record_property: Record
) -> None:
    """Within ten seconds of a kill, at once after a polite end; what is submitted meanwhile is done."""
    first = pool.scheduler()
    pool.until(lambda: str(first.pid) in leader_pid(pool), "the first one leads")
    second = pool.scheduler()
    pool.worker(1)
    pool.until_slots(1)
    pool.until_done(pool.order("before"))
    began_ms = tasks.now_ms(pool.store)
    how(first)
    id_ = pool.order("after")
    pool.until(lambda: str(second.pid) in leader_pid(pool), "the standby leads")
    seconds = (tasks.now_ms(pool.store) - began_ms) / 1000
    pool.until_done(id_)

    told(record_property, f"the scheduler, {how.__name__}", seconds)
    assert seconds < 40  # for a busy machine; what it takes is told
    assert (pool.orders("before"), pool.orders("after")) == (1, 1)


def test_a_scheduler_frozen_past_its_term_does_not_lead_beside_its_successor(pool: LivePool) -> None:
    """Thawed, it sees that another leads and stands by; nothing is handed over twice."""
    first = pool.scheduler()
    pool.until(lambda: str(first.pid) in leader_pid(pool), "the first one leads")
    pool.worker(2)
    pool.until_slots(2)
    second = pool.scheduler()
    frozen = pool.freeze(first.pid)
    pool.until(lambda: str(second.pid) in leader_pid(pool), "the standby leads")
    pool.thaw(frozen)
    ids = [pool.order(f"f{number}") for number in range(10)]
    pool.until_done(*ids)
    pool.until(lambda: "scheduler_standby" in first.text, "the thawed one stands by")

    assert str(second.pid) in leader_pid(pool)
    assert [pool.orders(f"f{number}") for number in range(10)] == [1] * 10
    assert all(len(pool.events(id_, "attempt_started")) == 1 for id_ in ids)


def test_every_process_killed_at_once_loses_nothing(pool: LivePool) -> None:
    """Worker, scheduler and Redis; new ones find all that was accepted."""
    worker = pool.start(2)
    ids = [pool.errand("test.order", f"k{number}", gates=["act"] if number < 2 else []) for number in range(6)]
    for number in range(2):
        pool.until_at(f"k{number}", "act")
    for one in pool.programs():
        one.end()
    assert worker.exit_code is not None
    pool.redis.restart()
    for number in range(2):
        pool.open_gate(f"k{number}", "act")
    pool.start(2)
    pool.until_done(*ids)

    assert [pool.orders(f"k{number}") for number in range(6)] == [1] * 6
    assert not list(pool.volume.locks.glob("child-*"))


def test_whoever_starts_again_removes_what_the_killed_left(pool: LivePool) -> None:
    """The temporary directories of killed attempts and children, and the processes."""
    worker = pool.start(1)
    id_ = pool.errand("test.order", "left", gates=["step0"])
    pool.until_at("left", "step0")
    pool.kill_parent(id_)
    pool.open_gate("left", "step0")
    pool.until_done(id_)
    worker.terminate()
    assert worker.wait() == 0
    assert not list(pool.volume.tmp.iterdir())
    assert processes.find(worker.pid) is None
