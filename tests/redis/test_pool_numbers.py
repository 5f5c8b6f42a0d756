"""The pool in numbers: what waits and why, who works, what is stuck; and what a scheduler shows of it."""

from __future__ import annotations

import pytest
import redis

from koala import keys, metrics, queue, reviews, switches, tasks, waiting
from koala.leases import Terms
from koala.meters import Look
from koala.metrics import Metric
from koala.settings import Settings, load
from koala.store import Store
from koala.tasks import Submission, Task
from scheduler import pool as numbers
from scheduler.duties import Duties
from scheduler.leader import Leader
from scheduler.metrics import SchedulerMetrics
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer

HOUR_MS = 3_600_000


class Seen:
    """One look, by metric and label values."""

    def __init__(self, store: Store, rq_client: redis.Redis) -> None:
        self._look: Look = numbers.look(store, rq_client)

    def __call__(self, metric: Metric, *labels: str) -> float:
        return self._look.values.get(metric, {}).get(labels, 0.0)

    def all(self, metric: Metric) -> dict[tuple[str, ...], float]:
        """All of a metric that is not 0."""
        return {labels: value for labels, value in self._look.values[metric].items() if value}

    @property
    def workflows(self) -> set[str]:
        return set(self._look.given["workflow"])


def ago(pool: Pool, task: Task, ms: int) -> None:
    """The task was accepted so long ago."""
    then = tasks.now_ms(pool.store) - ms
    pool.put(task, created_ms=then, due_ms=then)


class TestWaiting:
    def test_each_task_counts_under_the_reason_that_its_page_gives(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.slot("s1", ("shop@1", "mail@1"))
        pool.submit("anna")
        holder = pool.running("bert")
        pool.submit("bert")
        switches.turn_on(pool.store, "workflow:mail", "eva")
        pool.submit(workflow="mail")
        pool.submit(workflow="mail")
        pool.submit(workflow="unknown")
        pool.submit(due_ms=tasks.now_ms(pool.store) + HOUR_MS)
        pool.ask(pool.running())
        found = Seen(pool.store, rq_client)
        reasons = {"capacity": 1, "profile": 1, "paused": 2, "version": 1, "due": 1, "review": 1}
        assert found.all(metrics.WAITING) == {(reason,): number for reason, number in reasons.items()}
        assert found(metrics.TASKS, "running") == 1
        assert found(metrics.REVIEWS) == 1
        assert found(metrics.UNEXAMINED) == 0
        assert holder.release("done", {}) == "done"

    def test_the_oldest_is_found_behind_newer_work_of_higher_priority(self, pool: Pool, rq_client: redis.Redis) -> None:
        """It is not the head of its lane, and starves."""
        starving = pool.submit(priority=-1)
        for _ in range(3):
            pool.submit(priority=1)
        ago(pool, starving, HOUR_MS)
        assert Seen(pool.store, rq_client)(metrics.OLDEST_WAITING, "capacity") == pytest.approx(3600, abs=5)

    def test_a_task_that_was_due_later_waits_since_then(self, pool: Pool, rq_client: redis.Redis) -> None:
        task = pool.submit(due_ms=tasks.now_ms(pool.store) + HOUR_MS)
        pool.put(task, created_ms=1)
        assert Seen(pool.store, rq_client)(metrics.OLDEST_WAITING, "due") == 0
        due_ms = tasks.now_ms(pool.store) - 5000
        pool.put(task, due_ms=due_ms)
        pool.store.client.zadd(keys.index("later"), {task.id: due_ms})
        assert Seen(pool.store, rq_client)(metrics.OLDEST_WAITING, "due") == pytest.approx(5, abs=2), (
            "nobody promotes it"
        )
        tasks.promote(pool.store)
        assert Seen(pool.store, rq_client)(metrics.OLDEST_WAITING, "capacity") == pytest.approx(5, abs=2)

    def test_a_lost_delivery_does_not_make_a_task_young_again(self, pool: Pool, rq_client: redis.Redis) -> None:
        """Handed over and taken back for ever: only its age tells."""
        pool.slot("s1")
        task = pool.submit()
        ago(pool, task, HOUR_MS)
        assert pool.hand_over() == [task.id]
        assert Seen(pool.store, rq_client)(metrics.WAITING, "capacity") == 1
        tasks.unhand(pool.store, pool.task(task), "lost")
        found = Seen(pool.store, rq_client)
        assert found(metrics.OLDEST_WAITING, "capacity") == pytest.approx(3600, abs=5)
        assert found.all(metrics.WAITING) == {("capacity",): 1}

    @pytest.mark.parametrize("promoted", [False, True])
    def test_one_that_waits_for_an_old_holder_keeps_its_age(
        self, pool: Pool, rq_client: redis.Redis, promoted: bool
    ) -> None:
        """It is parked and tried again every two seconds; the alarm is about how long that goes on."""
        pool.slot("s1")
        attempt = pool.running("anna")
        ago(pool, attempt.task, HOUR_MS)
        delay = 0 if promoted else 60_000
        attempt.release("parked", {"wait": "old holder", "reason": "it lives", "delay_ms": delay})
        found = Seen(pool.store, rq_client)
        assert found.all(metrics.WAITING) == {("old holder",): 1}
        assert found(metrics.OLDEST_WAITING, "old holder") == pytest.approx(3600, abs=5)

    def test_what_is_beyond_the_limit_is_counted_as_unexamined(
        self, pool: Pool, rq_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A scrape stays cheap with ten thousand profiles, and says what it left out."""
        monkeypatch.setattr(waiting, "LANES", 3)
        for number in range(5):
            pool.submit(f"profile{number}")
        found = Seen(pool.store, rq_client)
        assert (found(metrics.WAITING, "capacity"), found(metrics.UNEXAMINED)) == (3, 2)

    def test_its_cost_does_not_grow_with_the_tasks(
        self, pool: Pool, rq_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(waiting, "OLDEST", 20)
        pool.slot("s1")

        def commands() -> int:
            Seen(pool.store, rq_client)
            before = int(pool.store.client.info("stats")["total_commands_processed"])
            Seen(pool.store, rq_client)
            return int(pool.store.client.info("stats")["total_commands_processed"]) - before

        for _ in range(waiting.OLDEST):
            tasks.submit(pool.store, Submission("shop", 1, {}))
        few = commands()
        for _ in range(3 * waiting.OLDEST):
            tasks.submit(pool.store, Submission("shop", 1, {}))
        assert commands() == few


class TestAttempts:
    def test_counters_are_those_of_all_images(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.slot("s1", ("shop@1", "mail@2"))
        pool.running().release("done", {})
        second = pool.running()
        second.image = "newer"
        second.release("crashed", {"crash": "tab"})
        found = Seen(pool.store, rq_client)
        assert found.all(metrics.ATTEMPTS) == {("shop", "done"): 1, ("shop", "crashed"): 1}
        assert found.all(metrics.ENDED) == {("shop", "done"): 1}
        assert found.all(metrics.POOL_CRASHES) == {("tab",): 1}
        assert found.workflows == {"shop", "mail"}, "also one that nothing was counted for, so that it begins at 0"
        last_s = found(metrics.LAST_COMPLETION)
        assert last_s == pytest.approx(tasks.now_ms(pool.store) / 1000, abs=5)

    def test_a_running_attempt_whose_lease_ended_is_stuck(self, pool: Pool, rq_client: redis.Redis) -> None:
        """Its worker was killed, and no scheduler takes it back."""
        pool.slot("s1")
        attempt = pool.running("anna")
        assert Seen(pool.store, rq_client).all(metrics.STUCK_ATTEMPTS) == {}
        pool.lapse(attempt.lease)
        found = Seen(pool.store, rq_client)
        assert found.all(metrics.STUCK_ATTEMPTS) == {("lease",): 1}
        assert found.all(metrics.LEASES) == {("expired",): 1}

    def test_one_far_beyond_its_runtime_limit_is_stuck(self, pool: Pool, rq_client: redis.Redis) -> None:
        """Its parent renews and does nothing else."""
        pool.slot("s1")
        terms = Terms(ttl_s=60, margin_s=1)
        pool.start(pool.submit(), facts={"runtime_s": -1000}, terms=terms)
        assert Seen(pool.store, rq_client).all(metrics.STUCK_ATTEMPTS) == {("overdue",): 1}

    def test_one_whose_slot_gives_no_sign_of_life_is_stuck(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.running(due_ms=0)
        assert Seen(pool.store, rq_client).all(metrics.STUCK_ATTEMPTS) == {("slot",): 1}

    def test_how_long_the_quietest_has_been_quiet(self, pool: Pool, rq_client: redis.Redis) -> None:
        assert Seen(pool.store, rq_client)(metrics.QUIET) == 0
        quiet, lively = pool.running(), pool.running()
        then = str(tasks.now_ms(pool.store) - 90_000)
        pool.store.client.delete(keys.timeline(quiet.task.id))
        pool.store.client.xadd(keys.timeline(quiet.task.id), {"at": then, "action": "step_begun", "data": "{}"})
        lively.record("progress", {})
        assert Seen(pool.store, rq_client)(metrics.QUIET) == pytest.approx(90, abs=5)


class TestSlots:
    def test_slots_by_what_they_do(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.slot("busy")
        pool.start(pool.submit(), slot="busy")
        pool.slot("idle", worker="w2")
        pool.slot("starting", accepting=0)
        pool.slot("resting", accepting=0, no_browser=3)
        pool.slot("crashing", accepting=0, no_browser=0, crashing=2)
        pool.slot("trial", trial=1)
        pool.slot("draining", worker="w3")
        switches.turn_on(pool.store, "worker:w3", "eva")
        found = Seen(pool.store, rq_client)
        states = {"busy": 1, "idle": 1, "starting": 1, "resting": 2, "trial": 1, "draining": 1}
        assert found.all(metrics.SLOTS) == {(state,): number for state, number in states.items()}
        assert {state for (state,) in found.all(metrics.SLOTS)} <= set(metrics.SLOT_STATES)
        assert found(metrics.WORKERS) == 3

    def test_a_switch_of_a_worker_that_left_is_off(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.slot("s1", worker="here")
        for name in ("worker:here", "worker:gone", "pool", "profile:anna"):
            switches.turn_on(pool.store, name, "eva")
        assert Seen(pool.store, rq_client).all(metrics.SWITCHED) == {("worker",): 1, ("pool",): 1, ("profile",): 1}

    def test_deliveries_that_nobody_has_taken(self, pool: Pool, rq_client: redis.Redis) -> None:
        pool.slot("s1")
        queue.push(rq_client, keys.queue("class"), "task-1", "task-1-1")
        assert Seen(pool.store, rq_client)(metrics.DELIVERIES) == 1

    def test_the_oldest_question(self, pool: Pool, rq_client: redis.Redis) -> None:
        asked = pool.ask(pool.running())
        pool.store.client.zadd(keys.ASKED, {asked.id: tasks.now_ms(pool.store) - 60_000})
        assert Seen(pool.store, rq_client)(metrics.OLDEST_REVIEW) == pytest.approx(60, abs=5)
        reviews.answer(pool.store, asked.id, reviews.Answer.LOOK_AGAIN, "eva")
        assert Seen(pool.store, rq_client)(metrics.OLDEST_REVIEW) == 0


class TestScheduler:
    def shown(self, pool: Pool, config: Settings, *, leads: bool = True) -> SchedulerMetrics:
        leader = Leader(pool.store, 60)
        if leads:
            leader.claim()
        return SchedulerMetrics(config, leader, Duties(pool.store, config).all())

    def value(self, of: SchedulerMetrics, name: str, **labels: str) -> float | None:
        return of.shown.get_sample_value(name, labels)

    @pytest.fixture
    def config(self, redis_server: RedisServer) -> Settings:
        return load(redis_url=redis_server.socket_url)

    def test_only_the_active_one_shows_the_pool(self, pool: Pool, config: Settings) -> None:
        """Two that show it double every sum."""
        standby, active = self.shown(pool, config, leads=False), self.shown(pool, config)
        for one, number in ((standby, None), (active, 0)):
            assert self.value(one, "koala_tasks", status="ready") == number
            assert self.value(one, "koala_crashes_total", kind="tab") == number
            assert self.value(one, "koala_store_up") == 1
            assert self.value(one, "koala_store_durable") == 1
        assert [self.value(one, "koala_scheduler_active") for one in (standby, active)] == [0, 1]

    def test_a_store_that_is_away_is_shown_and_the_pool_is_not(
        self, pool: Pool, config: Settings, redis_server: RedisServer
    ) -> None:
        active = self.shown(pool, config)
        assert self.value(active, "koala_tasks", status="ready") == 0
        gone = self.shown(pool, config.model_copy(update={"redis_url": "redis://127.0.0.1:1/0"}))
        assert self.value(gone, "koala_tasks", status="ready") is None
        assert (self.value(gone, "koala_store_up"), self.value(gone, "koala_store_durable")) == (0, 0)
        assert self.value(gone, "koala_pool_look_errors_total") == 4, "one a scrape"

    def test_a_store_that_its_loop_cannot_write_to_is_not_up(self, pool: Pool, config: Settings) -> None:
        active = self.shown(pool, config)
        active.away = True
        assert self.value(active, "koala_store_up") == 0

    def test_a_store_that_became_unsafe_while_we_run_is_not_durable(self, pool: Pool, config: Settings) -> None:
        active = self.shown(pool, config)
        pool.store.client.config_set("appendfsync", "everysec")
        try:
            assert self.value(active, "koala_store_durable") == 0
            assert self.value(active, "koala_store_up") == 1
        finally:
            pool.store.client.config_set("appendfsync", "always")

    def test_duties_are_counted_with_when_they_ran(self, pool: Pool, config: Settings) -> None:
        active = self.shown(pool, config)
        duty = next(one for one in active._duties if one.name == "promote")
        assert self.value(active, "koala_duty_last_run_timestamp_seconds", duty="promote") == 0
        with active.round():
            duty.tick(1e9)
        assert self.value(active, "koala_duty_runs_total", duty="promote") == 1
        assert self.value(active, "koala_duty_last_run_timestamp_seconds", duty="promote") > 1.7e9  # type: ignore[operator]
        assert self.value(active, "koala_scheduler_tick_seconds_count") == 1
