"""Schedules in the store: one task an occurrence, whoever fires and whatever comes in between."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import redis

from koala import keys, metrics, switches, tasks
from koala.errors import StoreAway
from koala.schedules import fire as firing
from koala.schedules import record, switching
from koala.schedules.definition import CatchUp, Overlap
from koala.schedules.fire import fire
from koala.schedules.state import Status
from koala.store import OUTAGE, Store, open_store
from koala.store.client import client_for
from koala.why import Reason, why
from scheduler.pool import look as numbers
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer
from tests.support.schedules import DAY_MS, NAME, back, define, made, make, outcomes, state
from tests.support.waiting import until

ALL: dict[str, Any] = {"catch_up": CatchUp.ALL, "catch_up_max": 1000, "window_ms": 1000 * DAY_MS}


class TestOneTaskAnOccurrence:
    def test_an_occurrence_becomes_a_task_with_all_that_its_schedule_says(self, store: Store) -> None:
        more = {"args": {"n": 1}, "profile": "anna", "priority": 3, "max_attempts": 5, "deadline_ms": 90_000}
        make(store, define(**more), undecided_ms=DAY_MS)
        assert fire(store, 10) == 1
        (task,) = made(store)
        assert (task.kind, task.profile, task.priority, task.max_attempts) == ("shop@1", "anna", 3, 5)
        assert (json.loads(task.args), task.status) == ({"n": 1}, "ready")
        assert task.deadline_ms == task.due_ms + 90_000, "its time begins when it may start"
        assert task.dedupe.startswith(f"schedule/{NAME}/")
        assert store.client.get(keys.dedupe(task.dedupe)) == task.id
        assert state(store).next_ms > tasks.now_ms(store)

    def test_jitter_delays_the_task_and_not_the_occurrence(self, store: Store) -> None:
        definition = make(store, define(jitter_ms=10**11))
        back(store, NAME, DAY_MS)
        fire(store, 10)
        (task,) = made(store)
        planned = definition.calendar.last(0, tasks.now_ms(store), 1)[0]
        assert (task.status, task.due_ms) == ("later", definition.due_ms(planned))

    def test_many_schedulers_at_once(self, store: Store, redis_server: RedisServer) -> None:
        """Promise 7: six that know nothing of each other, five schedules that have missed thirty occurrences each."""
        for number in range(5):
            make(store, define(f"s{number}", **ALL), undecided_ms=30 * DAY_MS)
        race([open_store(redis_server.socket_url) for _ in range(6)])
        for number in range(5):
            found = [task.dedupe for task in made(store, f"s{number}")]
            assert len(found) == len(set(found)) == 30

    def test_after_a_lost_answer_nothing_is_repeated(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        """The store has done it, and is away before it has said so."""
        make(store, define(**ALL), undecided_ms=3 * DAY_MS)
        run, fails = Store.run, iter([True, False, True])

        def lossy(self: Store, name: str, *given: Any) -> Any:
            reply = run(self, name, *given)
            if name == "schedule_step" and next(fails, False):
                raise StoreAway("cut")
            return reply

        monkeypatch.setattr(Store, "run", lossy)
        for _ in range(2):
            with pytest.raises(StoreAway):
                fire(store, 10)
        fire(store, 10)
        assert len(made(store)) == len({task.dedupe for task in made(store)}) == 3

    def test_a_store_that_is_killed_in_the_middle_repeats_and_loses_nothing(self, own_redis: RedisServer) -> None:
        """Five times, while two fire all they can."""
        store = open_store(own_redis.socket_url)
        make(store, define(overlap_max=1000, **ALL), undecided_ms=400 * DAY_MS)
        with two_at_it(own_redis.socket_url):
            for number in range(1, 6):
                until_started(store, 60 * number)
                own_redis.restart()
            until_started(store, 400)
        assert len({task.dedupe for task in made(store)}) == len(made(store)) == 400

    def test_an_occurrence_that_has_a_task_already_gets_no_second_one(self, store: Store) -> None:
        """Though the cursor says nothing of it, as after another way of running it."""
        make(store, define(**ALL), undecided_ms=2 * DAY_MS)
        fire(store, 10)
        back(store, NAME, 2 * DAY_MS)
        fire(store, 10)
        assert len(made(store)) == 2
        assert record.counts(store) == {"started": 2, "known": 2}

    def test_a_decision_made_for_another_turn_or_with_another_state_of_a_run_is_refused(self, store: Store) -> None:
        make(store, define(overlap=Overlap.FORBID, **ALL), undecided_ms=DAY_MS)
        fire(store, 10)
        back(store, NAME, DAY_MS)
        seen, before = record.look(store, NAME)
        decision = firing.policy.decide(before, seen.now_ms)
        (task,) = made(store)
        store.client.hset(keys.task(task.id), "status", "done")
        assert firing.step(store, seen, before, decision) is None, "the run has ended since"
        store.client.hset(keys.task(task.id), "status", "ready")
        assert firing.step(store, seen, before, decision) is not None
        assert firing.step(store, seen, before, decision) is None, "the turn is over"


@contextmanager
def two_at_it(url: str) -> Iterator[None]:
    """Two fire again and again, whatever becomes of the store."""
    ended = threading.Event()

    def one() -> None:
        store = Store(client_for(url))
        while not ended.is_set():
            with suppress(*OUTAGE):
                fire(store, 20)
        store.close()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def until_started(store: Store, number: int) -> None:
    """Until there are so many tasks; a store that is away is waited for."""

    def there() -> bool:
        with suppress(*OUTAGE):
            return int(store.client.zcard(keys.index("ready"))) >= number
        return False

    until(there, f"{number} tasks")


def race(stores: list[Store]) -> None:
    """Each fires until nothing is due, all at once."""
    start = threading.Barrier(len(stores))

    def one(store: Store) -> None:
        start.wait()
        while fire(store, 3):
            pass

    threads = [threading.Thread(target=one, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for store in stores:
        store.close()


class TestOverlap:
    def test_it_is_decided_from_the_state_of_the_last_run(self, store: Store) -> None:
        make(store, define(overlap=Overlap.FORBID), undecided_ms=DAY_MS)
        fire(store, 10)
        (first,) = made(store)
        back(store, NAME, DAY_MS)
        fire(store, 10)
        assert outcomes(store)[-1] == "overlap"
        end(store, first.id)
        store.client.delete(keys.dedupe(first.dedupe))  # the day is the same one
        back(store, NAME, DAY_MS)
        fire(store, 10)
        assert len(made(store)) == 2

    def test_what_waits_starts_when_the_earlier_run_has_ended(self, store: Store) -> None:
        make(store, define(overlap=Overlap.QUEUE_ALL, **ALL), undecided_ms=3 * DAY_MS)
        fire(store, 10)
        (first,) = made(store)
        assert len(state(store).waiting) == 2
        again(store)
        assert len(made(store)) == 1
        end(store, first.id)
        again(store)
        assert [task.status for task in made(store)] == ["done", "ready"]
        assert len(state(store).waiting) == 1

    def test_cancel_running_ends_the_earlier_run_first(self, store: Store) -> None:
        make(store, define(overlap=Overlap.CANCEL_RUNNING), undecided_ms=DAY_MS)
        fire(store, 10)
        (first,) = made(store)
        store.client.delete(keys.dedupe(first.dedupe))
        back(store, NAME, DAY_MS)
        fire(store, 10)
        assert tasks.get(store, first.id).reason == f"cancelled by schedule {NAME}: the next run is due"
        again(store)
        assert [task.status for task in made(store)] == ["cancelled", "ready"]

    def test_failures_in_a_row_pause_it_and_resuming_begins_anew(self, store: Store) -> None:
        make(store, define(pause_after=2, **ALL), undecided_ms=2 * DAY_MS)
        fire(store, 10)
        for task in made(store):
            end(store, task.id, "failed")
        back(store, NAME, DAY_MS)
        fire(store, 10)
        found = state(store)
        assert (found.status, found.note[:24]) == (Status.PAUSED, "2 runs in a row failed, ")
        assert len(made(store)) == 2
        assert switching.resume(store, NAME, "ann")
        fire(store, 10)
        assert (state(store).status, state(store).failures) == (Status.ON, 0)


def end(store: Store, task_id: str, status: str = "done") -> None:
    """A run ends."""
    store.client.hset(keys.task(task_id), "status", status)


def again(store: Store) -> None:
    """The moment of the next look has come."""
    store.client.zadd(keys.SCHEDULES_DUE, {NAME: 1}, xx=True)
    fire(store, 10)


class TestThePastIsNotFired:
    def test_by_enabling_editing_or_resuming(self, store: Store) -> None:
        def old() -> None:
            fire(store, 10)
            store.client.hset(keys.schedule(NAME), "cursor_ms", 1)

        switching.apply(store, define(**ALL), "ann")
        assert state(store).status is Status.OFF, "a new one is off"
        old()
        switching.enable(store, NAME, "ann")
        old()
        switching.apply(store, define(args={"n": 2}, **ALL), "ann")
        assert state(store).revision == 2
        old()
        switching.pause(store, NAME, "ann", "closed")
        old()
        switching.resume(store, NAME, "ann")
        fire(store, 10)
        assert [task.dedupe for task in made(store)] == []
        assert {"edited", "held"} <= set(outcomes(store)), "what was left out is told"

    def test_the_same_definition_again_changes_nothing(self, store: Store) -> None:
        make(store, define())
        before = store.hash(keys.schedule(NAME))
        done = switching.apply(store, define(), "bob")
        assert (done.changed, store.hash(keys.schedule(NAME))) == (False, before)

    def test_by_a_restore(self, store: Store) -> None:
        make(store, define(**ALL), undecided_ms=5 * DAY_MS)
        store.client.set(keys.EPOCH, int(store.client.get(keys.EPOCH) or 0) + 1)
        fire(store, 10)
        assert (made(store), outcomes(store)[-1]) == ([], "restored")
        back(store, NAME, DAY_MS)
        fire(store, 10)
        assert len(made(store)) == 1, "and then it goes on"

    def test_by_a_clock_that_is_put_back(self, store: Store) -> None:
        """The cursor is ahead then; enabling again begins with the clock, and what has run stays known."""
        make(store, define(**ALL), undecided_ms=2 * DAY_MS)
        fire(store, 10)
        ahead = tasks.now_ms(store) + DAY_MS
        store.client.hset(keys.schedule(NAME), "cursor_ms", ahead)
        again(store)
        assert (len(made(store)), state(store).cursor_ms) == (2, ahead)
        assert switching.enable(store, NAME, "ann")
        assert state(store).cursor_ms < ahead


class TestTheRestOfThePool:
    def test_a_workflow_that_nobody_runs_fires_all_the_same(self, pool: Pool) -> None:
        pool.slot("s1", runs=("news@1",))
        make(pool.store, define(), undecided_ms=DAY_MS)
        fire(pool.store, 10)
        (task,) = made(pool.store)
        assert why(pool.store, task).reason is Reason.VERSION

    def test_a_paused_pool_records_occurrences_and_lets_their_tasks_wait(self, pool: Pool) -> None:
        switches.turn_on(pool.store, "pool", "ann")
        make(pool.store, define(overlap=Overlap.FORBID), undecided_ms=3 * DAY_MS)
        fire(pool.store, 10)
        (task,) = made(pool.store)
        assert why(pool.store, task).reason is Reason.PAUSED
        assert outcomes(pool.store)[-2:] == ["catch_up", "started"]

    def test_one_that_cannot_be_understood_holds_up_nobody(self, store: Store) -> None:
        make(store, define("bad"), undecided_ms=9 * DAY_MS)
        store.client.hset(keys.schedule("bad"), "definition", define("bad", zone="Mars/Crater").to_json())
        make(store, define(), undecided_ms=DAY_MS)
        fire(store, 10)
        assert len(made(store)) == 1
        assert record.due(store, tasks.now_ms(store), 10) == [], "it is put off"

    def test_what_an_older_program_stored_and_a_newer_one_added_is_read(self, store: Store) -> None:
        make(store, define(), undecided_ms=DAY_MS)
        newer = {**json.loads(define().to_json()), "colour": "blue"}
        store.client.hset(keys.schedule(NAME), "definition", json.dumps(newer))
        fire(store, 10)
        assert len(made(store)) == 1


def test_the_active_scheduler_shows_them_in_numbers(store: Store, rq_client: redis.Redis) -> None:
    make(store, define(overlap=Overlap.FORBID, **ALL), undecided_ms=3 * DAY_MS)
    make(store, define("other"))
    switching.pause(store, "other", "ann")
    assert numbers(store, rq_client).values[metrics.SCHEDULE_LAG][()] == pytest.approx(3 * DAY_MS / 1000, abs=30)
    fire(store, 10)
    seen = numbers(store, rq_client).values
    assert seen[metrics.SCHEDULES] == {("off",): 0, ("on",): 1, ("paused",): 1, ("over",): 0}
    assert seen[metrics.OCCURRENCES] == {("started",): 1, ("overlap",): 2}
    assert seen[metrics.SCHEDULE_LAG] == {(): 0}


class TestCost:
    def test_a_tick_costs_what_is_due_not_what_exists(self, store: Store) -> None:
        few = self.cost(store, 10)
        assert self.cost(store, 10_000) == few
        assert self.cost(store, 10_000, due=0) == 2, "the time, and the index"

    def cost(self, store: Store, exist: int, due: int = 3) -> int:
        """How many commands a tick sends, those inside scripts included."""
        store.client.flushall()
        store.run("open_store", [keys.SCHEMA, keys.EPOCH], 1)
        names = [make(store, define(f"due-{number}")).name for number in range(max(due, 1))]
        copies(store, names[0], exist)
        fire(store, 1000)
        for name in names[:due]:
            back(store, name, DAY_MS)
        before = commands(store)
        fire(store, 1000)
        return commands(store) - before - 1


def commands(store: Store) -> int:
    """How many the server has carried out."""
    return sum(int(stat["calls"]) for stat in store.client.info("commandstats").values())


def copies(store: Store, of: str, number: int) -> None:
    """Others like it, due in an hour."""
    fields, later = store.hash(keys.schedule(of)), tasks.now_ms(store) + 3_600_000
    pipe = store.client.pipeline(transaction=False)
    for at in range(number):
        pipe.hset(keys.schedule(f"other-{at}"), mapping={**fields, "name": f"other-{at}"})  # type: ignore[arg-type]
        pipe.zadd(keys.SCHEDULES_DUE, {f"other-{at}": later})
        pipe.zadd(keys.SCHEDULES, {f"other-{at}": Status.ON.code})
    pipe.execute()
