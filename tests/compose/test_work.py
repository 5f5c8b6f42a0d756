"""Work on the real pool while its containers are killed, starved and restarted: each order once, nothing lost."""

from __future__ import annotations

import os
import signal

import pytest

from tests.support.compose_pool import ComposePool

GATED = "test.browse"


@pytest.fixture(scope="module")
def pool(shared: ComposePool) -> ComposePool:
    """The one that is left as it was found."""
    return shared


def test_tasks_are_done_on_both_workers(pool: ComposePool) -> None:
    """Promise 4: what was accepted ends, and both replicas take part."""
    logins = [pool.submit("shop.login", {"shop": pool.shop.url, "user": name}, profile=name) for name in ("ann", "bob")]
    pool.until_done(*logins)
    ids = [
        pool.order(f"w-{n}", workflow="shop.order", profile=name, user=name) for n, name in enumerate(["ann", "bob"])
    ]
    ids += [pool.order(f"w-api-{number}") for number in range(12)]
    pool.until_done(*ids, within_s=120)
    assert [pool.orders(f"w-api-{number}") for number in range(12)] == [1] * 12
    assert [pool.orders(f"w-{number}") for number in range(2)] == [1, 1]
    assert len({pool.worker_of(id_) for id_ in ids}) == 2


def test_a_worker_killed_in_the_middle_of_an_order_orders_once(pool: ComposePool) -> None:
    """Promises 3 and 10: the order is found by the next attempt, and its login is there."""
    id_ = pool.errand(GATED, "killed", profile="ann", gates=["acted"])
    pool.until_at("killed", "acted")
    victim = pool.worker_of(id_)
    pool.docker("kill", victim)
    pool.open_gate("killed", "acted")
    pool.until_done(id_)
    assert pool.orders("killed") == 1
    assert pool.exit_code(victim) == 128 + signal.SIGKILL
    assert not any("login is gone" in str(event.data) for event in pool.events(id_))
    pool.docker("start", victim)
    pool.until_slots(4)


def test_a_crashed_worker_is_started_again_by_the_engine(pool: ComposePool) -> None:
    victim = pool.containers()[0]
    before = {slot["worker"] for slot in pool.slots()}
    os.kill(int(pool.inspect(victim)["State"]["Pid"]), signal.SIGKILL)
    pool.until(lambda: pool.inspect(victim)["RestartCount"] >= 1, "the engine restarts it")
    pool.until(lambda: len({slot["worker"] for slot in pool.slots()} - before) == 1, "a new worker in its container")
    pool.until_slots(4)


def test_a_page_over_the_limit_dies_alone(pool: ComposePool) -> None:
    """Promise 9: the kernel ends the page inside its container's limit; the other slot goes on, the task too."""
    limit = pool.inspect(pool.containers()[0])["HostConfig"]["Memory"]
    assert limit > 0
    note = pool.home / "gates" / "hog.note"
    beside = [pool.errand("test.order", f"beside-{number}", gates=["step0"]) for number in range(3)]
    for number in range(3):
        pool.until_at(f"beside-{number}", "step0")
    hog = pool.submit("test.hog", {"note": str(note)})
    pool.until(note.exists, "it eats")
    pool.until_done(hog, within_s=120)
    assert all(pool.task(id_).status == "running" for id_ in beside)
    for number in range(3):
        pool.open_gate(f"beside-{number}", "step0")
    pool.until_done(*beside)
    assert all(pool.task(id_).crashes == 0 for id_ in beside)
    assert [pool.orders(f"beside-{number}") for number in range(3)] == [1] * 3
    assert all(pool.inspect(one)["RestartCount"] <= 1 for one in pool.containers())


def test_redis_restarted_under_load(pool: ComposePool) -> None:
    """Promise 4: accepted means durable."""
    ids = [pool.order(f"r-{number}") for number in range(10)]
    held = pool.errand("test.order", "r-held", gates=["acted"])
    pool.until_at("r-held", "acted")
    pool.compose("restart", "--timeout", "20", "redis")
    pool.open_doors()
    pool.open_gate("r-held", "acted")
    pool.until_done(*ids, held, within_s=120)
    assert [pool.orders(f"r-{number}") for number in range(10)] == [1] * 10
    assert pool.orders("r-held") == 1
