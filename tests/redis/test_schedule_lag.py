"""How late schedules are: told while somebody should have decided about one, and never of what is held on purpose."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from koala import keys, tasks
from koala.schedules import record, switching
from koala.schedules.fire import FAULT_MS, fire
from koala.store import Store
from tests.support.cli import Cli
from tests.support.redis_server import RedisServer
from tests.support.schedules import DAY_MS, NAME, back, define, make

Change = Callable[[Store], object]
HELD: dict[str, Change] = {
    "paused": partial(switching.pause, name=NAME, who="ann"),
    "off": partial(switching.disable, name=NAME, who="ann"),
    "dropped": partial(record.drop, name=NAME),
}


def lag_s(store: Store) -> float:
    return record.lag_ms(store, tasks.now_ms(store)) / 1000


def broken(store: Store) -> None:
    """One that is overdue for a day, and whose definition nobody here understands."""
    make(store, define())
    fire(store, 10)
    store.client.hset(keys.schedule(NAME), "definition", define(zone="Mars/Crater").to_json())
    back(store, NAME, DAY_MS)


def test_one_is_late_until_it_is_decided_about(store: Store) -> None:
    make(store, define(), undecided_ms=DAY_MS)
    assert lag_s(store) == pytest.approx(DAY_MS / 1000, abs=30)
    fire(store, 10)
    assert lag_s(store) == 0


def test_one_about_which_nobody_can_decide_stays_late_though_it_is_put_off(store: Store) -> None:
    broken(store)
    for _ in range(2):
        assert fire(store, 10) == 1
        assert record.due(store, tasks.now_ms(store), 10) == []
        assert lag_s(store) == pytest.approx(DAY_MS / 1000, abs=30)
        store.client.zadd(keys.SCHEDULES_DUE, {NAME: 1}, xx=True)  # a minute has passed


def test_when_it_is_mended_it_is_late_no_more(store: Store) -> None:
    broken(store)
    fire(store, 10)
    switching.apply(store, define(), "ann")
    assert fire(store, 10) == 1
    assert (lag_s(store), store.client.exists(keys.SCHEDULES_PUT_OFF)) == (0, 0)


@pytest.mark.parametrize("how", HELD)
def test_what_is_held_on_purpose_is_not_late(store: Store, how: str) -> None:
    """Whether it was overdue, or put off as one that nobody understands."""
    broken(store)
    fire(store, 10)
    assert lag_s(store) > FAULT_MS / 1000
    store.client.hset(keys.schedule(NAME), "definition", define().to_json())
    HELD[how](store)
    assert lag_s(store) == 0
    assert store.client.exists(keys.SCHEDULES_PUT_OFF) == (0 if how == "dropped" else 1)


def test_the_list_says_which_one_is_late(store: Store, redis_server: RedisServer) -> None:
    koala = Cli(redis_server.socket_url)
    make(store, define("well"))
    fire(store, 10)
    broken(store)
    store.client.hset(keys.schedule("well"), "next_ms", tasks.now_ms(store) - 5_000)
    late, well = (line for line in koala.ok("schedule", "list").out.splitlines() if "shop" in line or "wrong" in line)
    assert "late by 1 d" in late
    assert "Mars/Crater" in late
    assert "late" not in well
    assert [item["late_ms"] > 60_000 for item in koala.ok("schedule", "list", "--json").data] == [True, False]
