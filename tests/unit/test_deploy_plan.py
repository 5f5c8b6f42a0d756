"""The planner of a roll-out: every state leads to the end, and part of the capacity is always there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deploy import plan
from deploy.plan import Batch, Member, Pace
from deploy.problem import Problem


def _old(count: int, **facts: bool) -> list[Member]:
    return [Member(f"old {number}", new=False, **facts) for number in range(count)]


def _new(count: int, **facts: bool) -> list[Member]:
    return [Member(f"fresh {number}", new=True, **facts) for number in range(count)]


def test_new_ones_are_started_beside_the_old_before_as_many_leave() -> None:
    first = plan.next_batch(_old(4), plan.pace(4, 0, -1, None))
    assert first == Batch(start=1, leave=("old 0",))


def test_a_pool_of_eight_goes_in_batches_of_two() -> None:
    batches = plan.whole(_old(8), plan.pace(8, 0, -1, None))
    assert [(batch.start, len(batch.leave)) for batch in batches] == [(2, 2)] * 4


def test_without_room_the_old_ones_leave_first_and_half_stays() -> None:
    batches = plan.whole(_old(4), plan.pace(4, 4, 0, None))
    assert [(batch.start, len(batch.leave), batch.leave_first) for batch in batches] == [(2, 2, True)] * 2


def test_a_single_worker_is_never_taken_away_before_another_is_there() -> None:
    assert plan.whole(_old(1), plan.pace(1, 0, -1, 0)) == [Batch(start=1, leave=("old 0",))]
    with pytest.raises(Problem, match="nothing would be left"):
        plan.whole(_old(1), plan.pace(1, 0, 0, None))


def test_idle_ones_leave_before_busy_ones() -> None:
    members = [Member("busy", new=False, weight=1001), Member("idle", new=False, weight=1)]
    batch = plan.next_batch(members, plan.pace(2, 1, 1, None))
    assert batch is not None
    assert batch.leave == ("idle",)


def test_what_does_not_run_is_cleared_and_counts_for_nothing() -> None:
    batch = plan.next_batch([*_old(1), Member("dead", new=True, up=False)], plan.pace(1, 0, -1, None))
    assert batch == Batch(start=1, leave=("old 0",), clear=("dead",))


def test_a_roll_out_that_was_killed_after_the_start_drains_the_surplus_first() -> None:
    assert plan.next_batch([*_old(4), *_new(1)], plan.pace(4, 0, -1, None)) == Batch(leave=("old 0",))


def test_a_roll_out_that_was_killed_during_a_drain_waits_for_who_is_leaving() -> None:
    members = [*_old(3), Member("going", new=False, leaving=True), *_new(1)]
    assert plan.next_batch(members, plan.pace(4, 0, -1, None)) == Batch(start=1, leave=("going", "old 0"))


def test_nothing_is_left_to_do_when_all_are_new() -> None:
    assert plan.next_batch(_new(3), plan.pace(3, 0, -1, None)) is None
    assert plan.next_batch([], plan.pace(0, 0, -1, None)) is None


def test_what_is_surplus_of_the_new_ones_leaves_when_no_old_one_is_there() -> None:
    assert plan.next_batch(_new(3), plan.pace(2, 0, -1, None)) == Batch(leave=("fresh 0",))


MEMBERS = st.lists(
    st.builds(
        Member,
        id=st.uuids().map(str),
        new=st.booleans(),
        up=st.booleans(),
        leaving=st.booleans(),
        weight=st.integers(0, 3),
    ),
    max_size=12,
    unique_by=lambda one: one.id,
)


def _working(members: list[Member]) -> int:
    return sum(one.up and not one.leaving for one in members)


@given(MEMBERS, st.integers(0, 8), st.integers(0, 4), st.integers(-1, 3))
def test_from_any_state_it_ends_with_the_target_and_never_below_half_of_what_was(
    members: list[Member], target: int, batch: int, surge: int
) -> None:
    """Also from a state that a killed roll-out left. What runs at the worst moment of each batch is counted."""
    pace = plan.pace(target, batch, surge, None)
    now, steps = list(members), 0
    try:
        while step := plan.next_batch(now, pace):
            least = min(_working(now), -(-pace.target // 2))
            leaving = [one for one in now if one.id in step.leave and one.up and not one.leaving]
            between = _working(now) - len(leaving) + (0 if step.leave_first else step.start)
            assert between >= least
            assert _working(now) + (0 if step.leave_first else step.start) <= max(_working(now), target + pace.surge)
            now, steps = plan.after(now, step), steps + 1
            assert steps < 60
    except Problem:
        assert (pace.surge, target) == (0, 1)
        return
    assert all(one.new and one.up and not one.leaving for one in now)
    assert len(now) == target


@given(st.integers(0, 50), st.integers(0, 50), st.integers(-1, 50), st.one_of(st.none(), st.integers(0, 50)))
def test_every_pace_moves_and_by_itself_takes_no_more_than_there_is_room_for(
    target: int, batch: int, surge: int, room: int | None
) -> None:
    made = plan.pace(target, batch, surge, room)
    assert isinstance(made, Pace)
    assert made.size >= 1
    if surge < 0 and target != 1 and room is not None:
        assert made.surge <= room
