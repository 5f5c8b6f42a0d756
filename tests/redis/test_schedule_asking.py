"""A run now, a backfill, and the occurrence that a timer of the machine asks for."""

from __future__ import annotations

import threading

import pytest

from koala import keys, tasks
from koala.errors import NotFound, Refused
from koala.schedules import asking, switching
from koala.schedules.asking import NotDue
from koala.schedules.definition import CatchUp, Overlap
from koala.schedules.fire import fire
from koala.schedules.state import Status
from koala.store import Store, open_store
from tests.support.redis_server import RedisServer
from tests.support.schedules import DAY_MS, NAME, back, define, made, make, outcomes, state

MINUTE_MS, HOUR_MS = 60_000, 3_600_000


class TestRunNow:
    def test_it_is_a_run_like_any_other_and_no_occurrence(self, store: Store) -> None:
        make(store, define(overlap=Overlap.FORBID))
        id_ = asking.run_now(store, NAME)
        (task,) = made(store)
        assert (task.id, task.dedupe) == (id_, "")
        back(store, NAME, DAY_MS)
        fire(store, 10)
        assert outcomes(store)[-1] == "overlap"

    def test_it_respects_an_earlier_run_unless_told_otherwise(self, store: Store) -> None:
        make(store, define(overlap=Overlap.QUEUE_ONE))
        first = asking.run_now(store, NAME)
        with pytest.raises(Refused, match=f"its run {first} has not ended"):
            asking.run_now(store, NAME)
        assert asking.run_now(store, NAME, anyway=True) != first

    def test_it_works_for_one_that_is_off(self, store: Store) -> None:
        switching.apply(store, define(), "ann")
        before = state(store)
        assert asking.run_now(store, NAME)
        assert (state(store).status, state(store).next_ms) == (before.status, 0)


class TestBackfill:
    def test_past_times_without_a_task_run_one_after_another(self, store: Store) -> None:
        make(store, define(overlap=Overlap.FORBID, every_ms=HOUR_MS))
        now = tasks.now_ms(store)
        asked = asking.backfill(store, NAME, now - 3 * HOUR_MS, now, 10)
        assert len(asked) == 3
        for number in range(1, 4):
            fire(store, 10)
            assert [task.dedupe[-9:-4] for task in made(store)] == clocks(asked[:number])
            store.client.hset(keys.task(made(store)[-1].id), "status", "done")
            store.client.zadd(keys.SCHEDULES_DUE, {NAME: 1})
        assert asking.backfill(store, NAME, now - 3 * HOUR_MS, now, 10) == [], "each has a task"

    def test_all_at_once_where_runs_may_overlap(self, store: Store) -> None:
        make(store, define(every_ms=HOUR_MS))
        now = tasks.now_ms(store)
        asking.backfill(store, NAME, now - 5 * HOUR_MS, now, 10)
        fire(store, 10)
        assert len(made(store)) == 5

    def test_of_one_that_is_over(self, store: Store) -> None:
        """It goes on for that, and is over again."""
        end = tasks.now_ms(store) // HOUR_MS * HOUR_MS
        make(store, define(every_ms=HOUR_MS))
        switching.apply(store, define(every_ms=HOUR_MS, end_ms=end), "ann")
        fire(store, 10)
        assert state(store).status is Status.OVER
        asking.backfill(store, NAME, end - HOUR_MS, end, 10)
        fire(store, 10)
        assert (len(made(store)), state(store).status) == (2, Status.OVER)

    def test_what_is_refused(self, store: Store) -> None:
        make(store, define(every_ms=MINUTE_MS))
        now = tasks.now_ms(store)
        with pytest.raises(Refused, match="more than 10 are planned"):
            asking.backfill(store, NAME, now - HOUR_MS, now, 10)
        with pytest.raises(Refused, match="times that are over"):
            asking.backfill(store, NAME, now, now + HOUR_MS, 100)
        switching.pause(store, NAME, "ann")
        with pytest.raises(Refused, match="is paused"):
            asking.backfill(store, NAME, now - MINUTE_MS, now, 10)


def clocks(planned: list[int]) -> list[str]:
    return [f"{at // HOUR_MS % 24:02}:{at // MINUTE_MS % 60:02}" for at in planned]


class TestTake:
    def test_the_latest_due_occurrence_is_taken_and_those_before_it_are_left_out(self, store: Store) -> None:
        make(store, define(overlap=Overlap.FORBID), undecided_ms=3 * DAY_MS)
        id_ = asking.take(store, NAME)
        assert [task.id for task in made(store)] == [id_]
        assert outcomes(store)[-2:] == ["catch_up", "started"]
        assert asking.take(store, NAME) == id_, "once an occurrence"

    def test_a_timer_and_schedulers_at_once_run_it_once(self, store: Store, redis_server: RedisServer) -> None:
        names = [make(store, define(f"s{number}", every_ms=HOUR_MS)).name for number in range(8)]
        for name in names:
            back(store, name, HOUR_MS)
        got: list[str] = []
        start = threading.Barrier(4)

        def timer(own: Store) -> None:
            start.wait()
            got.extend(asking.take(own, name) for name in names)

        def scheduler(own: Store) -> None:
            start.wait()
            fire(own, 100)

        own = [open_store(redis_server.socket_url) for _ in range(4)]
        threads = [threading.Thread(target=timer if at % 2 else scheduler, args=(one,)) for at, one in enumerate(own)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one in own:
            one.close()
        assert [len(made(store, name)) for name in names] == [1] * 8
        assert sorted(got) == sorted(2 * [made(store, name)[0].id for name in names])

    def test_the_next_ones_are_the_schedulers_again(self, store: Store) -> None:
        make(store, define(catch_up=CatchUp.ALL), undecided_ms=DAY_MS)
        asking.take(store, NAME)
        fire(store, 10)
        assert len(made(store)) == 1

    def test_one_of_the_past_by_its_time(self, store: Store) -> None:
        make(store, define(every_ms=HOUR_MS))
        planned = (tasks.now_ms(store) // HOUR_MS - 2) * HOUR_MS
        id_ = asking.take(store, NAME, planned)
        assert asking.take(store, NAME, planned) == id_
        with pytest.raises(Refused, match="plans no run at that time"):
            asking.take(store, NAME, planned + 1000)
        with pytest.raises(Refused, match="has not come yet"):
            asking.take(store, NAME, planned + 5 * HOUR_MS)

    def test_when_there_is_nothing_to_run(self, store: Store) -> None:
        switching.apply(store, define(overlap=Overlap.FORBID, every_ms=HOUR_MS), "ann")
        with pytest.raises(Refused, match="is off"):
            asking.take(store, NAME)
        switching.enable(store, NAME, "ann")
        with pytest.raises(NotDue, match="before it was enabled"):
            asking.take(store, NAME)
        switching.pause(store, NAME, "ann", "closed")
        with pytest.raises(NotDue, match="paused: closed"):
            asking.take(store, NAME)
        switching.resume(store, NAME, "ann")
        asking.run_now(store, NAME)
        back(store, NAME, HOUR_MS)
        with pytest.raises(NotDue, match="an earlier run has not ended"):
            asking.take(store, NAME)
        with pytest.raises(NotFound, match="did you mean nightly"):
            asking.take(store, "nihgtly")
