"""What the demo reads out of a task's timeline."""

from __future__ import annotations

from typing import Any

from demo import story
from demo.story import Moment
from koala.timeline import Event


def told(*actions: tuple[int, str, dict[str, Any]]) -> list[Event]:
    """A timeline."""
    return [Event(f"{at}-0", at, action, data) for at, action, data in actions]


def started(at: int, fence: str) -> tuple[int, str, dict[str, Any]]:
    return at, "attempt_started", {"fence": fence, "slot": "w-0"}


def over(at: int, fence: str, outcome: str, why: str = "") -> tuple[int, str, dict[str, Any]]:
    return at, "attempt_ended", {"fence": fence, "outcome": outcome, "why": why}


def step(at: int, fence: str) -> tuple[int, str, dict[str, Any]]:
    return at, "step_started", {"step": "read_price", "fence": fence}


SENT = "effect_sent"


def test_the_moment_of_an_attempt_follows_its_steps() -> None:
    events = told(started(1, "1.1"), step(2, "1.1"), (3, SENT, {}), (4, "effect_happened", {}))
    moments = [story.moment(events[:length]) for length in range(1, 5)]
    assert moments == [Moment.STARTING, Moment.LOOKING, Moment.ORDERING, Moment.CLOSING]


def test_a_new_attempt_begins_anew() -> None:
    assert story.moment(told(started(1, "1.1"), (2, SENT, {}), started(3, "1.2"))) is Moment.STARTING


def test_work_goes_on_with_the_next_attempt_that_does_something() -> None:
    events = told(started(1, "1.1"), over(5, "1.1", "crashed"), started(7, "1.2"), step(8, "1.2"))
    assert story.resumed_ms(events, "1.1", 4) == 7


def test_an_attempt_that_found_everything_done_already_is_work_going_on() -> None:
    assert story.resumed_ms(told(started(1, "1.1"), started(7, "1.2"), over(8, "1.2", "done")), "1.1", 4) == 7


def test_work_has_not_gone_on_while_nobody_can_tell() -> None:
    assert story.resumed_ms(told(started(1, "1.1"), started(7, "1.2")), "1.1", 4) is None
    assert story.resumed_ms(told(started(1, "1.1"), step(2, "1.1")), "1.1", 4) is None


def test_an_attempt_that_was_sent_away_by_a_living_old_holder_is_not_work_going_on() -> None:
    away = over(8, "1.2", "parked", "old holder alive: profile-ann is held")
    events = told(started(1, "1.1"), started(7, "1.2"), step(8, "1.2"), away, started(12, "1.3"), step(13, "1.3"))
    assert story.resumed_ms(events, "1.1", 4) == 12


def test_a_new_tab_counts_only_when_it_came_after_the_fault() -> None:
    events = told(started(1, "1.1"), (3, "tab_died", {"dead_tabs": 1}))
    assert story.new_tab_ms(events, 2) == 3
    assert story.new_tab_ms(events, 4) is None


def test_a_tab_that_died_in_the_act_has_cost_the_attempt() -> None:
    events = told(started(1, "1.1"), over(3, "1.1", "crashed", "the outcome of x is unknown: its tab died"))
    assert story.tab_cost_attempt(events, "1.1")
    assert not story.tab_cost_attempt(events, "1.2")


def test_an_attempt_that_ended_as_done_was_not_harmed() -> None:
    events = told(started(1, "1.1"), over(3, "1.1", "crashed"), started(4, "1.2"), over(6, "1.2", "done"))
    assert [story.unharmed(events, fence) for fence in ("1.1", "1.2")] == [False, True]


def test_a_task_is_taken_away_when_its_lease_has_run_out() -> None:
    events = told(started(1, "1.1"), (9, "attempt_lost", {"fence": "1.1", "why": "its worker was lost"}))
    assert story.lost(events, "1.1")
    assert story.ended(events, "1.1")


def test_only_what_the_shop_was_asked_about_counts_as_settled_by_asking() -> None:
    events = told(
        (1, "effect_absent", {"how": "confirm"}),
        (2, "effect_happened", {"how": "receipt"}),
        (3, "effect_happened", {"how": "confirm"}),
    )
    assert story.settled_by_asking(events) == ["absent", "happened"]


def test_a_login_that_is_gone_is_found_in_the_workflows_own_words() -> None:
    events = told((1, "log", {"text": "the login is gone", "user": "ann"}), (2, "log", {"text": "other"}))
    assert story.logins_gone(events) == 1
