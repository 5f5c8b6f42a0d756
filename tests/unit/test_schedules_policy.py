"""What is decided about a schedule: over downtimes, restarts, replicas and runs that take as long as they like."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from koala.schedules import policy
from koala.schedules.catch_up import choose
from koala.schedules.definition import CatchUp, Definition, Order, Overlap, from_json, occurrence
from koala.schedules.overlap import admit
from koala.schedules.state import Outcome, Run, State, Status, Waiting
from koala.schedules.zones import moment, zone
from tests.support.calendar_oracle import Oracle
from tests.support.schedule_world import World

MINUTE = 60_000
HOUR = 60 * MINUTE
BEGIN = datetime(2027, 3, 28, 0, 0, tzinfo=UTC)
"""An hour before the clocks go forward in Berlin."""
LENGTH = timedelta(hours=10)
PHASES = (Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink)

policies = st.fixed_dictionaries(
    {
        "catch_up": st.sampled_from(CatchUp),
        "catch_up_order": st.sampled_from(Order),
        "catch_up_max": st.integers(1, 4),
        "window_ms": st.sampled_from([10 * MINUTE, HOUR, 24 * HOUR]),
        "grace_ms": st.sampled_from([MINUTE, 20 * MINUTE]),
        "overlap": st.sampled_from(Overlap),
        "overlap_max": st.integers(1, 4),
        "pause_after": st.sampled_from([0, 0, 2]),
    }
)
expressions = st.sampled_from(["*/10 * * * *", "0 * * * *", "5,35 1-6 * * *", "30 2,3,4 * * *", "*/7 2-4 * * *"])
zones = st.sampled_from(["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kolkata"])
happenings = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1_000, 25 * MINUTE)),
        st.tuples(st.just("pass"), st.sampled_from([5 * MINUTE, 10 * MINUTE, HOUR])),
        st.tuples(st.just("down"), st.integers(MINUTE, 3 * HOUR)),
        st.tuples(st.just("end"), st.integers(0, 3)),
        st.tuples(st.just("fail"), st.integers(0, 3)),
        st.tuples(st.just("race"), st.integers(1_000, 25 * MINUTE)),
        st.tuples(st.just("back"), st.integers(1_000, HOUR)),
    ),
    min_size=25,
    max_size=80,
)


def definition(**more: object) -> Definition:
    given = {"zone": "UTC", "cron": ("0 * * * *",), **more}
    return Definition("nightly", "shop", 1, **given)  # type: ignore[arg-type]


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=PHASES)
@given(policies, expressions, zones, happenings)
def test_no_occurrence_runs_twice_or_vanishes_and_no_policy_is_exceeded(
    policy_: dict[str, object], text: str, place: str, happening: list[tuple[str, int]]
) -> None:
    oracle = Oracle(text, zone(place))
    planned = [moment(at) for at in oracle.moments(BEGIN, BEGIN + LENGTH + timedelta(hours=4))]
    world = World(definition(cron=(text,), zone=place, **policy_), planned, moment(BEGIN))
    for what, much in happening:
        live(world, what, much)
        if world.now > moment(BEGIN + LENGTH):
            break
        check_next(world)
    check_accounts(world)
    check_policies(world)


def live(world: World, what: str, much: int) -> None:
    if what == "pass":
        world.now += much
        world.tick()
    elif what == "down":  # nobody schedules; then somebody does
        world.now += much
    elif what in ("end", "fail"):
        world.end(much, "done" if what == "end" else "failed")
        world.tick()
    elif what == "back":  # the store's clock is put back, and goes on from there
        world.now -= min(much, world.now - world.began)
        world.state = replace(world.state, next_ms=world.now)  # as when somebody looks all the same
        world.tick()
    else:  # two schedulers have read the same record; the slower one is also later
        world.now += much
        seen, decisions = world.state, [policy.decide(world.state, world.now + later) for later in (0, 900)]
        if seen.status is Status.ON and 0 < seen.next_ms <= world.now:
            assert [world.carry_out(seen, decision) for decision in decisions] == [True, False]
        world.tick()


def check_next(world: World) -> None:
    """After a tick the next look is in the future, and not behind the next planned time."""
    state = world.state
    if state.status is not Status.ON or state.next_ms <= world.now:
        return
    planned = min((at for at in world.planned if at > state.cursor_ms), default=None)
    assert planned is None or state.next_ms <= planned


def check_accounts(world: World) -> None:
    """Each planned time up to the cursor is exactly one of: started, skipped, waiting. None after it is."""
    considered = [at for at in world.planned if world.began < at <= world.state.cursor_ms]
    accounted = world.accounted()
    assert sorted(accounted) == considered
    assert set(accounted.values()) <= {1}
    assert len(world.started) == len(set(world.started))


def check_policies(world: World) -> None:
    definition = world.definition
    most = definition.overlap_max if definition.overlap is Overlap.ALLOW else 1
    assert world.most_at_once <= most
    assert len(world.state.waiting) <= places(definition)
    for cursor, now, chosen in world.batches:
        due = [at for at in world.planned if cursor < at <= now]
        assert sorted(chosen) == sorted(expected(definition, due, now))


def places(definition: Definition) -> int:
    bounds = {Overlap.FORBID: 0, Overlap.QUEUE_ONE: 1, Overlap.CANCEL_RUNNING: 1}
    return bounds.get(definition.overlap, definition.overlap_max)


def expected(definition: Definition, due: list[int], now: int) -> list[int]:
    """What the policy for missed ones lets through, said plainly."""
    if definition.catch_up is CatchUp.SKIP:
        return [at for at in due if now - at <= definition.grace_ms]
    due = [at for at in due if now - at <= max(definition.window_ms, definition.grace_ms)]
    if definition.catch_up is CatchUp.LATEST:
        return due[-1:]
    most = definition.catch_up_max
    return due[:most] if definition.catch_up_order is Order.OLDEST else due[-most:]


class TestCatchUp:
    @pytest.mark.parametrize(
        ("more", "taken", "left"),
        [
            ({"catch_up": "skip"}, [], [("catch_up", 5)]),
            ({"catch_up": "latest"}, [5], [("catch_up", 4)]),
            ({"catch_up": "latest", "window_ms": 2 * HOUR}, [5], [("window", 3), ("catch_up", 1)]),
            ({"catch_up": "latest", "window_ms": 10 * MINUTE}, [], [("window", 5)]),
            ({"catch_up": "all", "catch_up_max": 2}, [1, 2], [("catch_up", 3)]),
            ({"catch_up": "all", "catch_up_max": 2, "catch_up_order": Order.NEWEST}, [5, 4], [("catch_up", 3)]),
            ({"catch_up": "all"}, [1, 2, 3, 4, 5], []),
        ],
    )
    def test_after_five_missed_hours(
        self, more: dict[str, object], taken: list[int], left: list[tuple[str, int]]
    ) -> None:
        made = definition(**{**more, "catch_up": CatchUp(str(more["catch_up"]))})
        chosen, skipped = choose(made, 0, 5 * HOUR + 30 * MINUTE)
        assert [item.planned_ms // HOUR for item in chosen] == taken
        assert [(str(item.outcome), item.count) for item in skipped] == left

    def test_a_week_of_missed_seconds_costs_no_more_than_what_is_taken(self) -> None:
        made = definition(cron=(), every_ms=1000, catch_up=CatchUp.ALL, catch_up_order=Order.NEWEST)
        chosen, skipped = choose(made, 0, 7 * 24 * HOUR)
        assert len(chosen) == 10
        assert [item.count for item in skipped] == [1000], "that many or more"


class TestOverlap:
    WAITING = (Waiting(1), Waiting(2), Waiting(3))

    @pytest.mark.parametrize(
        ("overlap", "running", "start", "waiting", "dropped"),
        [
            ("forbid", 0, 1, [], [2, 3]),
            ("forbid", 1, None, [], [1, 2, 3]),
            ("queue_one", 0, 1, [2], [3]),
            ("queue_one", 1, None, [1], [2, 3]),
            ("queue_all", 0, 1, [2, 3], []),
            ("queue_all", 1, None, [1, 2], [3]),
            ("cancel_running", 0, 3, [], [1, 2]),
            ("cancel_running", 1, None, [3], [1, 2]),
            ("allow", 1, 1, [2, 3], []),
            ("allow", 2, None, [], [1, 2, 3]),
        ],
    )
    def test_three_due_at_once(
        self, overlap: str, running: int, start: int | None, waiting: list[int], dropped: list[int]
    ) -> None:
        got = admit(Overlap(overlap), 2, self.WAITING, running)
        assert (got.start.planned_ms if got.start else None) == start
        assert [item.planned_ms for item in got.waiting] == waiting
        assert [item.planned_ms for item in got.dropped] == dropped

    def test_what_a_person_asked_for_waits_whatever_the_policy(self) -> None:
        asked = (Waiting(1, asked=True), Waiting(2, asked=True))
        assert admit(Overlap.FORBID, 1, (*asked, Waiting(9)), 1).waiting == asked
        got = admit(Overlap.FORBID, 1, (*asked, Waiting(9)), 0)
        assert (got.start, got.waiting) == (Waiting(9), asked), "what is due goes first"
        assert admit(Overlap.FORBID, 1, asked, 0) == (asked[0], asked[1:], ())

    def test_how_long_ago_a_run_began_says_nothing(self) -> None:
        """A run of a year ago that has not ended holds the next one back; one of a second ago that has does not."""
        state = on(definition(), cursor_ms=0, runs=(Run("old", 0, "review"),))
        assert policy.decide(state, 365 * 24 * HOUR).start is None
        state = on(definition(), cursor_ms=0, runs=(Run("new", HOUR - 1, "done"),))
        assert policy.decide(state, HOUR).start == Waiting(HOUR)

    def test_a_run_whose_task_is_forgotten_has_ended(self) -> None:
        assert policy.decide(on(definition(), runs=(Run("gone", 0, ""),)), HOUR).start == Waiting(HOUR)

    def test_cancel_running_ends_the_earlier_run_and_lets_the_next_wait_for_that(self) -> None:
        made = definition(overlap=Overlap.CANCEL_RUNNING)
        decision = policy.decide(on(made, runs=(Run("task-1", 0, "running"),)), HOUR)
        assert (decision.start, decision.waiting, decision.cancel) == (None, (Waiting(HOUR),), ("task-1",))
        assert decision.next_ms < 2 * HOUR, "it is looked at again before the next one is due"


def on(made: Definition, **more: object) -> State:
    return State(made, status=Status.ON, **more)  # type: ignore[arg-type]


class TestFailures:
    def runs(self, *statuses: str) -> tuple[Run, ...]:
        return tuple(Run(f"task-{at}", at, status) for at, status in enumerate(statuses))

    def test_so_many_in_a_row_pause_it_with_a_note(self) -> None:
        state = on(definition(pause_after=3), failures=1, runs=self.runs("failed", "dead"))
        decision = policy.decide(state, HOUR)
        assert (decision.status, decision.start, decision.next_ms) == (Status.PAUSED, None, 0)
        assert decision.note == "3 runs in a row failed, last task-1 (dead)"

    @pytest.mark.parametrize("statuses", [("failed", "done"), ("failed", "cancelled"), ("expired", "running")])
    def test_others_do_not(self, statuses: tuple[str, ...]) -> None:
        state = on(definition(pause_after=2, overlap=Overlap.ALLOW), runs=self.runs(*statuses))
        assert policy.decide(state, HOUR).status is Status.ON

    def test_a_run_that_matters_is_looked_at_before_the_next_is_due(self) -> None:
        state = on(definition(pause_after=1), cursor_ms=1000, last_ms=1000, runs=self.runs("running"))
        assert policy.decide(state, 2000).next_ms < HOUR
        assert policy.decide(replace(state, definition=definition()), 2000).next_ms == HOUR


class TestOthers:
    def test_the_clock_put_back_fires_nothing_again(self) -> None:
        decision = policy.decide(on(definition(), cursor_ms=10 * HOUR), 5 * HOUR)
        assert (decision.start, decision.skipped, decision.cursor_ms) == (None, (), 10 * HOUR)
        assert decision.next_ms == 11 * HOUR

    def test_after_a_restore_nothing_of_the_time_in_between_is_run(self) -> None:
        """Nobody knows what has run between the backup and the restore."""
        decision = policy.decide(on(definition(), restored=True), 3 * HOUR + 1)
        assert (decision.start, decision.cursor_ms) == (None, 3 * HOUR + 1)
        assert [(item.outcome, item.count) for item in decision.skipped] == [(Outcome.RESTORED, 3)]

    def test_a_schedule_with_nothing_left_is_over(self) -> None:
        decision = policy.decide(on(definition(end_ms=HOUR)), HOUR)
        assert (decision.start, decision.status, decision.next_ms) == (Waiting(HOUR), Status.OVER, 0)

    @pytest.mark.parametrize("status", [Status.OFF, Status.PAUSED, Status.OVER])
    def test_nothing_is_decided_about_one_that_is_not_on(self, status: Status) -> None:
        decision = policy.decide(replace(on(definition()), status=status), 9 * HOUR)
        assert (decision.start, decision.skipped, decision.cursor_ms, decision.next_ms) == (None, (), 0, 0)

    def test_a_stored_definition_is_read_as_it_was(self) -> None:
        made = definition(exclude=("2026-12-25",), at_ms=(5,), overlap=Overlap.QUEUE_ALL)
        assert from_json(made.to_json()) == made

    def test_the_id_of_an_occurrence_is_its_schedule_and_its_time_in_utc(self) -> None:
        assert occurrence("nightly", 1_795_984_920_000) == "schedule/nightly/2026-11-29T20:42:00Z"


class TestJitter:
    @settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.integers(0, 10**8), st.integers(1, 10**8))
    def test_it_is_the_same_each_time_and_within_its_span(self, minute: int, jitter_ms: int) -> None:
        made = definition(jitter_ms=jitter_ms)
        planned = minute * MINUTE
        assert planned <= made.due_ms(planned) < planned + jitter_ms
        assert made.due_ms(planned) == definition(jitter_ms=jitter_ms).due_ms(planned)

    @pytest.mark.parametrize("across", ["occurrences", "schedules"])
    def test_it_is_spread_evenly(self, across: str) -> None:
        """Of 4,000, each tenth of the span gets about 400: five standard deviations are 95."""
        tenths = [0] * 10
        for number in range(4000):
            name, planned = ("a", number * MINUTE) if across == "occurrences" else (f"s{number}", HOUR)
            share = replace(definition(jitter_ms=1000), name=name).due_ms(planned) - planned
            tenths[share // 100] += 1
        assert all(305 < number < 495 for number in tenths), tenths
