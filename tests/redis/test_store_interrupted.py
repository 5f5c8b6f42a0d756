"""What the pool has interrupted had its turn: it is served before what has not begun."""

from __future__ import annotations

import pytest

from koala import tasks
from tests.support.pool import Pool


@pytest.fixture
def crowd(pool: Pool) -> Pool:
    """Lanes of others that have waited since before the task of `ann` was lost, and one idle slot."""
    pool.slot("s1")
    return pool


def test_a_task_whose_worker_was_lost_is_served_before_lanes_that_have_waited_longer(crowd: Pool) -> None:
    attempt = crowd.running("ann")
    for profile in ("bob", "cat"):
        crowd.submit(profile)
    lost = crowd.lose(attempt)
    assert crowd.hand_over() == [lost.id]


def test_a_delivery_that_was_lost_does_not_cost_its_task_the_turn(crowd: Pool) -> None:
    first = crowd.submit("ann")
    assert crowd.hand_over() == [first.id]
    crowd.submit("bob")
    assert tasks.unhand(crowd.store, crowd.task(first), "lost")
    assert crowd.hand_over() == [first.id]


def test_an_effect_to_settle_keeps_its_task_in_front_also_after_a_wait_for_an_old_holder(crowd: Pool) -> None:
    attempt = crowd.sent(crowd.running("ann"))
    assert attempt.release("parked", {"reason": "old holder alive", "delay_ms": 1}) == "later"
    crowd.submit("bob")
    crowd.tick()
    assert tasks.promote(crowd.store) == 1
    assert crowd.hand_over() == [attempt.task.id]


def test_a_snooze_gives_the_turn_away(crowd: Pool) -> None:
    attempt = crowd.running("zoe")  # within one millisecond lanes go by name
    assert attempt.release("snoozed", {"reason": "later", "delay_ms": 1}) == "later"
    other = crowd.submit("bob")
    crowd.tick()
    assert tasks.promote(crowd.store) == 1
    assert crowd.hand_over() == [other.id]
