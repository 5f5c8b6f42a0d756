"""Switches: pause the pool, a workflow or a profile; drain a worker."""

from __future__ import annotations

import pytest

from koala import switches
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
