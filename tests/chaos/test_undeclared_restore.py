"""A store that was put back to an older copy, without anybody saying so, stops the workers: nothing is done twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import starts, switches
from koala.exits import Exit
from tests.support.live_pool import LivePool

HELD = "workflow:test.browse"


@pytest.fixture
def pool() -> Iterator[LivePool]:
    with LivePool() as opened:
        yield opened


def replace_data(pool: LivePool, source: Path, target: Path) -> None:
    """Stop the store, copy its data directory from here to there, and start it again."""
    pool.redis.kill()
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(source, target)
    pool.redis.start()


def test_an_older_store_is_noticed_by_the_next_task_and_stops_the_whole_worker(pool: LivePool) -> None:
    """The copy knows an order as not yet made. It was made since, under a fence that the copy has not given."""
    folder = pool.home / "starts"
    folder.mkdir()
    pool.scheduler(KOALA_STARTS=str(folder))
    worker = pool.worker(2, KOALA_STARTS=str(folder))
    pool.until_slots(2)
    first = pool.errand("test.browse", "first", profile="ann", user="ann")
    pool.until_done(first)
    switches.turn_on(pool.store, HELD, "test", "the copy is made now")
    made = pool.errand("test.browse", "made", profile="ann", user="ann")
    data, copy = pool.redis.home / "appendonlydir", pool.home / "copy"
    replace_data(pool, data, copy)
    switches.turn_off(pool.store, HELD)
    pool.until_done(made)
    assert pool.orders("made") == 1

    replace_data(pool, copy, data)
    assert pool.task(made).status == "ready"
    switches.turn_off(pool.store, HELD)

    assert worker.wait() == Exit.WENT_BACK
    assert "store_went_back" in worker.text
    assert "store went back" in worker.text
    assert (pool.orders("made"), pool.shop.state()["arrivals"]["made"]) == (1, 1)

    again = pool.worker(2, KOALA_STARTS=str(folder))
    assert again.wait() == Exit.WENT_BACK
    assert "worker_started" not in again.text
    pool.until(lambda: starts.seen(pool.store)["worker"].failures >= 2, "both ends are on record")
    (host,) = starts.seen(pool.store)["worker"].failing
    assert (host.exit, host.row) == (Exit.WENT_BACK, 2)
    assert "store went back" in host.reason
    assert (pool.orders("made"), pool.shop.state()["arrivals"]["made"]) == (1, 1)
