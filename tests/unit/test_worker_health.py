"""When a worker is well, which of its slots hang, and when it gives up."""

from __future__ import annotations

import pytest

from worker.health import CALM_S, DEATHS, START_S, STILLBORN, Health


@pytest.fixture
def health() -> Health:
    """Two slots, born at 0, of which nothing was heard yet."""
    made = Health(hung_s=30)
    made.born(0, 0)
    made.born(1, 0)
    return made


def test_a_worker_is_well_when_each_slot_has_been_heard(health: Health) -> None:
    health.beat(0, 1)
    assert health.why(2) == "slot 1 has been starting for 2 s"
    health.beat(1, 2)
    assert health.why(3) == ""


def test_a_silent_slot_makes_it_unwell_before_it_counts_as_hung(health: Health) -> None:
    health.beat(0, 1)
    health.beat(1, 20)
    assert health.why(21) == "slot 0 has been silent for 20 s"
    assert health.hung(21) == []
    assert health.hung(32) == [0]


def test_a_slot_that_never_comes_up_hangs_too_after_longer(health: Health) -> None:
    assert health.hung(START_S) == []
    assert health.hung(START_S + 1) == [0, 1]


def test_nobody_is_blamed_for_silence_while_we_were_frozen_ourselves(health: Health) -> None:
    health.beat(0, 1)
    health.forgive(1000)
    assert health.hung(1001) == []
    assert health.why(1001) == "slot 1 has been starting for 1 s"


def test_a_dead_slot_makes_it_unwell_until_its_next_life_is_heard(health: Health) -> None:
    health.beat(0, 1)
    health.beat(1, 1)
    health.died(0, 2)
    assert health.why(2) == "slot 0 died and is started again"
    health.born(0, 3)
    assert "slot 0" in health.why(3)
    health.beat(0, 4)
    assert health.why(4) == ""


def test_a_slot_that_left_is_not_missed(health: Health) -> None:
    health.beat(0, 1)
    health.left(1)
    assert health.why(2) == ""


def test_a_slot_that_was_never_ready_is_soon_given_up(health: Health) -> None:
    for number in range(1, STILLBORN):
        assert health.died(0, 5) == number
        assert not health.is_hopeless(0)
        health.born(0, 5)
    health.died(0, 6)
    assert health.is_hopeless(0)
    assert not health.is_hopeless(1)


def test_one_that_is_killed_at_work_is_given_more_lives(health: Health) -> None:
    for number in range(1, DEATHS):
        health.beat(0, 5)
        assert health.died(0, 6) == number
        assert not health.is_hopeless(0)
        health.born(0, 6)
    health.beat(0, 7)
    health.died(0, 8)
    assert health.is_hopeless(0)


def test_a_good_life_ends_the_row(health: Health) -> None:
    health.died(0, 5)
    health.born(0, 5)
    health.beat(0, 6)
    assert health.died(0, 7 + CALM_S) == 0


def test_a_long_life_in_which_it_was_never_ready_is_no_good_one(health: Health) -> None:
    assert health.died(0, 10 * CALM_S) == 1


def test_a_slot_that_finds_no_store_is_not_to_blame(health: Health) -> None:
    assert health.died(0, 1) == 1
    for _ in range(2 * DEATHS):
        health.born(0, 1)
        assert health.died(0, 2, blameless=True) == 1
