"""Switches: pause the pool, a workflow or a profile; drain a worker."""

from __future__ import annotations

import pytest

from koala import keys, slots, switches
from koala.errors import Refused
from tests.support.pool import Pool, unchanged


def test_a_switch_says_who_turned_it_on_and_why(pool: Pool) -> None:
    assert switches.turn_on(pool.store, switches.name("profile", "anna"), "eva", "new password")
    on = switches.all_on(pool.store)
    assert on.keys() == {"profile:anna"}
    assert (on["profile:anna"].by, on["profile:anna"].why) == ("eva", "new password")


def test_turning_it_on_again_keeps_the_first_note(pool: Pool) -> None:
    switches.turn_on(pool.store, switches.POOL, "eva")
    with unchanged(pool.store):
        assert not switches.turn_on(pool.store, switches.POOL, "adam")


def test_turning_it_off_twice_says_that_it_was_off(pool: Pool) -> None:
    switches.turn_on(pool.store, switches.POOL, "eva")
    assert switches.turn_off(pool.store, switches.POOL)
    with unchanged(pool.store):
        assert not switches.turn_off(pool.store, switches.POOL)
    assert switches.all_on(pool.store) == {}


def test_each_switch_holds_what_it_names(pool: Pool) -> None:
    for name in ("workflow:shop", "profile:anna", "worker:w1"):
        switches.turn_on(pool.store, name, "eva")
    on = switches.all_on(pool.store)
    held = {
        (workflow, profile): switches.pausing(on, workflow, profile)
        for workflow in ("shop", "other")
        for profile in ("anna", "bert", "")
    }
    assert {pair for pair, switch in held.items() if switch} == {
        ("shop", "anna"),
        ("shop", "bert"),
        ("shop", ""),
        ("other", "anna"),
    }


@pytest.mark.parametrize("kind", ["workflow", "profile", "worker"])
def test_a_switch_without_a_name_is_refused(kind: str) -> None:
    """`profile:` would be a switch that nobody sees and nothing obeys."""
    with pytest.raises(Refused, match=f"which {kind}"):
        switches.name(kind)


def test_names_of_switches() -> None:
    assert [switches.name("pool"), switches.name("pool", "x"), switches.name("worker", "w1")] == [
        "pool",
        "pool",
        "worker:w1",
    ]


def test_the_drain_of_a_worker_that_is_long_gone_is_forgotten(pool: Pool) -> None:
    """Names of workers are never used again. One that died may have been drained: that is shown for a day."""
    pool.slot("there-0", worker="there")
    pool.slot("died-0", worker="died")
    pool.store.client.zadd(keys.SLOTS, {"died-0": 1})
    for name in ("there", "died", "left"):
        switches.turn_on(pool.store, switches.name("worker", name), "eva")
    switches.turn_on(pool.store, switches.POOL, "eva")
    since = switches.all_on(pool.store)["worker:left"].since_ms
    with unchanged(pool.store):
        assert switches.forget_workers(pool.store, slots.workers(pool.store), since - 1000) == 0
    assert switches.forget_workers(pool.store, slots.workers(pool.store), since + 1000) == 1
    assert switches.all_on(pool.store).keys() == {"pool", "worker:there", "worker:died"}
    pool.store.client.delete(keys.slot("died-0"))
    assert switches.forget_workers(pool.store, slots.workers(pool.store), since + 1000) == 1
    assert switches.all_on(pool.store).keys() == {"pool", "worker:there"}
