"""RQ carries, the task record knows: deliveries lost, doubled or late, and how much is handed over to whom."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import redis

from koala import keys, queue, tasks
from tests.support.live_pool import LivePool


def delete_rq(pool: LivePool) -> int:
    """Delete every `rq:*` key; how many there were."""
    with redis.Redis.from_url(pool.redis.socket_url) as client:
        found = list(client.scan_iter("rq:*", count=1000))
        return int(client.delete(*found)) if found else 0


def until_waiting(pool: LivePool, id_: str) -> None:
    """Until the task is handed over and its job waits in RQ: the one comes a moment before the other."""
    pool.until_status(id_, "handed")
    with queue.connect(pool.redis.socket_url) as connection:
        pool.until(lambda: queue.waiting(connection, keys.queue(pool.work_class())), f"the job of {id_} waits")


def test_every_key_of_rq_deleted_again_and_again_loses_nothing(pool: LivePool) -> None:
    """Fifty orders; the keys go five times while they run."""
    pool.start(2)
    ids = [pool.order(f"q{number}", settle_s=0) for number in range(50)]
    for done in (1, 10, 20, 30, 40):
        pool.until_ended(done)
        assert delete_rq(pool)
    pool.until_done(*ids)

    assert [pool.orders(f"q{number}") for number in range(50)] == [1] * 50
    assert all(len(pool.events(id_, "attempt_started")) == 1 for id_ in ids)


def test_a_delivery_deleted_before_it_is_taken_is_made_again(pool: LivePool) -> None:
    """The only slot is frozen while its job waits in RQ; then the job is gone, and the task still runs."""
    pool.start(1)
    frozen = pool.freeze(*pool.parents())
    id_ = pool.order("lost")
    until_waiting(pool, id_)
    assert delete_rq(pool)
    pool.thaw(frozen)
    pool.until_done(id_)
    assert pool.events(id_, "delivery_lost")
    assert pool.orders("lost") == 1


def test_a_doubled_job_runs_once(pool: LivePool) -> None:
    """Three jobs of the same task wait in RQ for three slots, before any of them has a lease."""
    pool.start(3)
    frozen = pool.freeze(*pool.parents())
    id_ = pool.order("doubled")
    until_waiting(pool, id_)
    with queue.connect(pool.redis.socket_url) as connection:
        for number in range(2):
            assert queue.push(connection, keys.queue(pool.work_class()), id_, f"{id_}-copy-{number}")
    pool.thaw(frozen)
    pool.until_done(id_)
    pool.until(lambda: pool.output().count("delivery_dropped") == 2, "both copies are dropped")

    assert len(pool.events(id_, "attempt_started")) == 1
    assert (pool.orders("doubled"), pool.shop.state()["arrivals"]["doubled"]) == (1, 1)


@contextmanager
def most_in_flight(pool: LivePool) -> Iterator[list[int]]:
    """Watches RQ and the records all the time; the list has the most that RQ held and that was handed or running."""
    most, over = [0, 0], threading.Event()

    def watch() -> None:
        with queue.connect(pool.redis.socket_url) as connection:
            while not over.is_set():
                carried = queue.carried(connection, keys.queue(pool.work_class()))
                counts = tasks.counts(pool.store)
                most[0] = max(most[0], len(carried.waiting | carried.taken | carried.started))
                most[1] = max(most[1], counts["handed"] + counts["running"])

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        over.set()
        watcher.join()


def test_fifty_due_tasks_are_never_more_in_rq_than_two_slots_can_start(pool: LivePool) -> None:
    """Also while a child and a slot are killed. A job may still be listed while its task's next one is pushed."""
    pool.start(2)
    with most_in_flight(pool) as most:
        ids = [pool.order(f"h{number}", settle_s=0) for number in range(48)]
        ids += [
            pool.order("h48", settle_s=0, plan="step.before:child"),
            pool.order("h49", settle_s=0, plan="step.before:parent"),
        ]
        pool.until_done(*ids)

    assert most[1] <= 2
    assert most[0] <= 4
    assert [pool.orders(f"h{number}") for number in range(50)] == [1] * 50


def test_two_hundred_tasks_of_one_profile_do_not_hold_up_twenty_others(pool: LivePool) -> None:
    """They were submitted first, and the others are done while most of them wait."""
    pool.start(2)
    many = [pool.order(f"m{number}", profile="busy", settle_s=0) for number in range(200)]
    others = [pool.order(f"o{number}", profile=f"p{number % 4}", settle_s=0) for number in range(10)]
    others += [pool.order(f"n{number}", settle_s=0) for number in range(10)]
    pool.until_done(*others)
    waiting = [task for task in tasks.many(pool.store, many) if not task.ended]

    assert len(waiting) > 100
    assert sum(task.status in ("handed", "running") for task in waiting) <= 1


def test_tasks_of_one_profile_run_one_at_a_time(pool: LivePool) -> None:
    """Promise 1, over four slots; a higher priority goes first."""
    pool.start(4)
    first = pool.errand("test.order", "one", profile="p", gates=["step0"])
    pool.until_at("one", "step0")
    later = [pool.order(f"l{number}", profile="p", settle_s=0) for number in range(6)]
    urgent = pool.order("urgent", profile="p", priority=5, settle_s=0)
    pool.open_gate("one", "step0")
    pool.until_done(first, *later, urgent)

    spans = [_span(pool, id_) for id_ in (first, urgent, *later)]
    assert spans[:2] == sorted(spans)[:2]
    assert all(end <= begin for (_, end), (begin, _) in pairwise(sorted(spans))), spans


def _span(pool: LivePool, id_: str) -> tuple[int, int]:
    """When the task's only attempt began and ended, by the store's clock."""
    (begun,), (ended,) = pool.events(id_, "attempt_started"), pool.events(id_, "attempt_ended")
    return begun.at_ms, ended.at_ms


def test_the_same_dedupe_key_is_one_task(pool: LivePool) -> None:
    """Submitted from eight threads at once."""
    pool.start(2)
    ids: list[str] = []
    threads = [threading.Thread(target=lambda: ids.append(pool.order("same", dedupe="same"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    pool.until_done(*ids)
    assert len(set(ids)) == 1
    assert pool.orders("same") == 1
