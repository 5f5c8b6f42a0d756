"""What trials leave in the store and at RQ: nothing for ever, whoever dies."""

from __future__ import annotations

import redis as redis_py

from koala import canary, keys, queue, slots, tasks, trials, why
from koala.queue import Seat
from koala.store import Store
from koala.tasks import Submission
from koala.why import Reason
from tests.support.pool import Pool

CANARY = f"{canary.NAME}@1"
DAY_MS = 86_400_000


def sing(pool: Pool) -> tasks.Task:
    """A canary that waits."""
    return tasks.get(pool.store, tasks.submit(pool.store, Submission(canary.NAME, 1, {}, profile="canary-1")).id)


def test_a_canary_goes_to_no_class_but_one_on_trial(pool: Pool) -> None:
    task, real = sing(pool), pool.submit()
    pool.slot("s1")
    assert pool.hand_over() == [real.id]
    pool.slot("w1-0", (CANARY,), "trial-w1-0", trial=1)
    assert pool.hand_over() == [task.id]


def test_a_canary_that_nobody_takes_says_so_and_can_be_cancelled(pool: Pool) -> None:
    task = sing(pool)
    assert why.why(pool.store, task).reason is Reason.CAPACITY
    pool.slot("s1")
    found = why.why(pool.store, task)
    assert (found.reason, CANARY in found.text) == (Reason.VERSION, True)
    assert tasks.cancel(pool.store, task.id, "ann")


def test_a_class_that_nobody_is_in_any_more_goes_by_itself(pool: Pool) -> None:
    pool.slot("w1-0", (CANARY,), "trial-w1-0")
    left_ms = pool.store.client.pttl(keys.work_class("trial-w1-0"))
    assert 0 < left_ms <= DAY_MS
    slots.forget_class(pool.store, "trial-w1-0")
    assert not pool.store.client.exists(keys.work_class("trial-w1-0"))


def test_a_queue_that_nobody_serves_goes_with_its_jobs_and_its_dead(
    store: Store, redis: redis_py.Redis, rq_client: redis_py.Redis
) -> None:
    for name in ("koala-trial-dead", "koala-alive"):
        Seat(rq_client, name, f"seat-of-{name}").register()
        queue.push(rq_client, name, "task-1", f"job-of-{name}")
    redis.delete("rq:worker:seat-of-koala-trial-dead")  # its key has run out
    redis.sadd("rq:queues", "rq:queue:not-ours")
    assert queue.tidy(rq_client, {"koala-alive"}) == 1
    assert redis.smembers("rq:queues") == {"rq:queue:koala-alive", "rq:queue:not-ours"}
    assert redis.smembers("rq:workers") == {"rq:worker:seat-of-koala-alive"}
    assert not redis.keys("*trial-dead*")
    assert queue.waiting(rq_client, "koala-alive") == {"job-of-koala-alive"}


def test_what_passed_is_known_by_image_host_and_number(store: Store) -> None:
    trials.remember(store, "1.2", "host", "0")
    assert trials.passed(store, "1.2", "host", "0")
    assert not trials.passed(store, "1.3", "host", "0")
    assert not trials.passed(store, "1.2", "other", "0")
    assert not trials.passed(store, "1.2", "host", "1")


def test_what_passed_long_ago_is_forgotten(store: Store) -> None:
    store.client.zadd(keys.TRIED, {"1.0|gone|0": tasks.now_ms(store) - trials.KEPT_MS - 1})
    trials.remember(store, "1.2", "host", "0")
    assert store.client.zrange(keys.TRIED, 0, -1) == ["1.2|host|0"]
