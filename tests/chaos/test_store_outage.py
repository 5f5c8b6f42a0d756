"""The store away in the middle of work: killed and started again, frozen, and unable to write."""

from __future__ import annotations

import redis

from koala import tasks
from tests.support.live_pool import LivePool


def crashes(pool: LivePool, ids: list[str]) -> list[str]:
    """The stories of tasks that were charged with a crash or a failure."""
    return [pool.story(task.id) for task in tasks.many(pool.store, ids) if task.crashes or task.attempts]


def test_redis_killed_and_started_again_twice_loses_and_doubles_nothing(pool: LivePool) -> None:
    """Thirty orders; what was acknowledged is there again, and nobody is charged with a crash."""
    worker = pool.start(2)
    ids = [pool.order(f"r{number}") for number in range(30)]
    for done in (3, 15):
        pool.until_ended(done)
        pool.redis.restart()
    pool.until_done(*ids)

    assert [pool.orders(f"r{number}") for number in range(30)] == [1] * 30
    assert not crashes(pool, ids)
    assert worker.exit_code is None


def test_redis_killed_in_an_act_and_away_for_longer_than_the_lease(pool: LivePool) -> None:
    """The order is at the shop and its receipt cannot be kept: the attempt ends, the next one finds the order."""
    pool.start(2)
    id_ = pool.errand("test.order", "away", gates=["acted"], settle_s=1)
    pool.until_at("away", "acted")
    child = pool.child_of(id_)
    pool.redis.kill()
    pool.until_gone(child)
    pool.redis.start()
    pool.open_gate("away", "acted")
    pool.until_done(id_)

    assert (pool.orders("away"), pool.shop.state()["arrivals"]["away"]) == (1, 1)
    assert pool.effect("away").how == "confirm"
    assert not crashes(pool, [id_])


def test_redis_frozen_for_longer_than_the_lease(pool: LivePool) -> None:
    """Connections stay open and nobody answers: attempts end by their own clock, and go on after the thaw."""
    worker = pool.start(2)
    held = pool.errand("test.order", "held", gates=["act"], settle_s=1)
    pool.until_at("held", "act")
    child = pool.child_of(held)
    others = [pool.order(f"o{number}") for number in range(4)]
    pool.redis.freeze()
    pool.until_gone(child)
    pool.redis.thaw()
    pool.open_gate("held", "act")
    pool.until_done(held, *others)

    assert [pool.orders(name) for name in ("held", "o0", "o1", "o2", "o3")] == [1] * 5
    assert not crashes(pool, [held, *others])
    assert worker.exit_code is None


def test_redis_that_cannot_write_stops_the_pool_and_loses_nothing(pool: LivePool) -> None:
    """As with a full disk: every write is refused for a while. Reads go on; nobody is charged."""
    worker = pool.start(2)
    ids = [pool.order(f"w{number}") for number in range(10)]
    pool.until_ended(2)
    with redis.Redis.from_url(pool.redis.socket_url) as client:
        client.config_set("min-replicas-to-write", 1)
        pool.until(lambda: "store_away" in worker.text, "the worker has noticed")
        client.config_set("min-replicas-to-write", 0)
    pool.until_done(*ids)

    assert [pool.orders(f"w{number}") for number in range(10)] == [1] * 10
    assert not crashes(pool, ids)


def test_a_worker_that_starts_before_its_store_says_so_and_ends(pool: LivePool) -> None:
    """With an exit code of its own, for whoever restarts it."""
    pool.redis.kill()
    worker = pool.worker(1)
    assert worker.wait() == 7
    assert "no store at" in worker.text
