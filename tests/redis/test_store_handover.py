"""The hand-over: what may start, never more than can start, and nobody starves."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import redis

from koala import handover, keys, queue, slots, switches, tasks
from koala.handover import Handed
from koala.settings import load
from koala.store import OUTAGE
from koala.tasks import Task
from scheduler.duties import Duties
from tests.support.pool import Pool, unchanged
from tests.support.redis_server import RedisServer


def run_all(pool: Pool, handed: list[str], *, slots_: tuple[str, ...] = ("s1", "s2")) -> None:
    """Run what was handed over to its end, each on a slot of its own."""
    for id_, slot in zip(handed, slots_, strict=False):
        pool.start(pool.task(id_), slot=slot).release("done", {})


def served(pool: Pool, rounds: int) -> list[Task]:
    """What is handed over, round by round, while everything that starts ends at once."""
    order: list[Task] = []
    for _ in range(rounds):
        handed = pool.hand_over()
        order += [pool.task(id_) for id_ in handed]
        run_all(pool, handed)
    return order


class TestHandOver:
    def test_a_ready_task_goes_to_a_class_that_can_run_it(self, pool: Pool) -> None:
        task = pool.submit("anna")
        pool.slot("s1")
        (handed,) = handover.hand_over(pool.store)
        assert (handed.task_id, handed.job, handed.work_class) == (task.id, 1, "class")
        assert (handed.job_id, handed.queue) == (f"{task.id}-1", "koala-class")
        assert pool.where(task) == ["handed"]
        assert pool.task(task).class_ == "class"
        with unchanged(pool.store):
            assert pool.hand_over() == []

    def test_what_is_delivered_is_in_the_queue_of_its_class_under_the_name_of_that_hand_over(
        self, pool: Pool, rq_client: redis.Redis
    ) -> None:
        task = pool.submit()
        pool.slot("s1")
        assert handover.deliver(pool.store, rq_client) == 1
        assert queue.waiting(rq_client, keys.queue("class")) == {Handed.last(pool.task(task)).job_id}
        assert handover.deliver(pool.store, rq_client) == 0

    def test_what_is_handed_over_and_not_pushed_is_taken_back(
        self, pool: Pool, rq_client: redis.Redis, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """RQ was away in between."""
        tasks_ = [pool.submit(), pool.submit()]
        pool.slot("s1")
        pool.slot("s2")
        push, answers = queue.push, iter([True, False])

        def lossy(*given: Any) -> bool:
            if next(answers):
                return push(*given)
            raise redis.ConnectionError("cut")

        monkeypatch.setattr(queue, "push", lossy)
        with pytest.raises(OUTAGE):
            handover.deliver(pool.store, rq_client)
        assert [pool.status(task) for task in tasks_] == ["handed", "handed"]
        pool.tick()
        duties = Duties(pool.store, load(redis_url=redis_server.socket_url, handed_wait_s=0.001))
        assert duties.reconcile() == 1
        assert [pool.status(task) for task in tasks_] == ["handed", "ready"]

    def test_nothing_is_handed_to_nobody(self, pool: Pool) -> None:
        pool.submit()
        with unchanged(pool.store):
            assert pool.hand_over() == []
        pool.slot("s1", accepting=0)
        with unchanged(pool.store):
            assert pool.hand_over() == []

    def test_a_version_that_nobody_runs_waits(self, pool: Pool) -> None:
        task = pool.submit()
        pool.slot("s1", runs=("shop@2", "other@1"))
        with unchanged(pool.store):
            assert pool.hand_over() == []
        pool.slot("s2", runs=("shop@1", "shop@2"), work_class="newer")
        assert pool.hand_over() == [task.id]
        assert pool.task(task).class_ == "newer"

    def test_a_workflows_name_may_hold_an_at_sign(self, pool: Pool) -> None:
        task = pool.submit(workflow="shop@eu")
        pool.slot("s1", runs=("shop@eu@1",))
        switches.turn_on(pool.store, "workflow:shop", "eva")
        assert pool.hand_over() == [task.id]

    def test_a_busy_profile_is_not_handed_over(self, pool: Pool) -> None:
        pool.slot("s1")
        pool.slot("s2")
        first, second, other = pool.submit("anna"), pool.submit("anna"), pool.submit("bert")
        assert pool.hand_over() == [first.id, other.id]
        run_all(pool, [])
        attempt = pool.start(first, slot="s1")
        pool.start(other, slot="s2").release("done", {})
        with unchanged(pool.store):
            assert pool.hand_over() == []
        attempt.release("done", {})
        assert pool.hand_over() == [second.id]

    def test_a_profile_is_not_busy_once_its_lease_ran_out(self, pool: Pool) -> None:
        attempt = pool.running("anna")
        second = pool.submit("anna")
        pool.slot("s1")
        pool.lapse(attempt.lease)
        assert pool.hand_over() == [second.id]

    @pytest.mark.parametrize("switch", ["pool", "workflow:shop", "profile:anna", "worker:w1"])
    def test_what_is_paused_stays(self, pool: Pool, switch: str) -> None:
        task = pool.submit("anna")
        pool.slot("s1")
        switches.turn_on(pool.store, switch, "eva")
        with unchanged(pool.store):
            assert pool.hand_over() == []
        switches.turn_off(pool.store, switch)
        assert pool.hand_over() == [task.id]

    def test_nothing_is_handed_over_while_a_restore_holds_all_leases_back(self, pool: Pool) -> None:
        pool.submit()
        pool.slot("s1")
        pool.store.client.set(keys.HOLD, tasks.now_ms(pool.store) + 60_000)
        with unchanged(pool.store):
            assert pool.hand_over() == []

    def test_a_slot_that_went_silent_gets_nothing(self, pool: Pool) -> None:
        pool.submit()
        pool.slot("s1")
        pool.store.client.zadd(keys.SLOTS, {"s1": 1})
        with unchanged(pool.store):
            assert pool.hand_over() == []


class TestCapacity:
    def test_a_hundred_due_at_once_are_never_more_in_the_queue_than_slots(self, pool: Pool) -> None:
        later = tasks.now_ms(pool.store) + 3_600_000
        made = [pool.submit(due_ms=later) for _ in range(100)]
        pool.store.client.zadd(keys.index("later"), {task.id: 1 for task in made})
        for task in made:
            pool.put(task, due_ms=1)
        assert tasks.promote(pool.store) == 100
        pool.slot("s1")
        pool.slot("s2")
        rounds = 0
        while tasks.counts(pool.store)["ready"]:
            rounds += 1
            handed = pool.hand_over()
            assert handed
            assert tasks.counts(pool.store)["handed"] <= 2
            assert pool.hand_over() == [], "the queue is full"
            run_all(pool, handed)
        assert (rounds, tasks.counts(pool.store)["done"]) == (50, 100)

    def test_running_and_handed_together_are_at_most_the_slots(self, pool: Pool) -> None:
        for _ in range(4):
            pool.submit()
        pool.slot("s1")
        pool.slot("s2")
        handed = pool.hand_over()
        assert len(handed) == 2
        pool.start(pool.task(handed[0]), slot="s1")
        with unchanged(pool.store):
            assert pool.hand_over() == []

    def test_one_class_over_its_slots_does_not_starve_another(self, pool: Pool) -> None:
        """Slots of class one died after three tasks were handed to it; class two is idle."""
        for number in range(4):
            pool.slot(f"a{number}", work_class="one")
        for _ in range(4):
            pool.submit()
        assert len(pool.hand_over()) == 4
        for number in range(1, 4):
            slots.leave(pool.store, f"a{number}", "one")
        pool.slot("b1", runs=("other@1",), work_class="two")
        other = pool.submit(workflow="other")
        assert pool.hand_over() == [other.id]

    def test_slots_of_several_classes_are_counted_each_for_itself(self, pool: Pool) -> None:
        pool.slot("a", runs=("shop@1",), work_class="one")
        pool.slot("b", runs=("shop@1", "other@1"), work_class="two")
        made = [pool.submit() for _ in range(3)]
        other = pool.submit(workflow="other")
        handed = handover.hand_over(pool.store)
        assert Counter(item.work_class for item in handed) == {"one": 1, "two": 1}
        assert {item.task_id for item in handed} <= {task.id for task in [*made, other]}


class TestFairness:
    def test_others_are_not_behind_two_hundred_tasks_of_one_profile(self, pool: Pool) -> None:
        busy = [pool.submit("anna") for _ in range(200)]
        others = [pool.submit(f"p{number}") for number in range(20)]
        pool.slot("s1")
        pool.slot("s2")
        order = served(pool, 22)
        assert {task.id for task in others} <= {task.id for task in order}
        assert sum(task.profile == "anna" for task in order) >= 2, "nor is the one profile behind them all"
        assert [task.id for task in order if task.profile == "anna"] == [
            task.id for task in busy[: sum(task.profile == "anna" for task in order)]
        ], "a profile's own tasks keep their order"

    def test_lanes_take_turns_also_within_one_hand_over(self, pool: Pool) -> None:
        """Eight idle slots and three workflows of ten tasks each: no lane takes what is left."""
        for workflow in ("a", "b", "c"):
            for _ in range(10):
                pool.submit(workflow=workflow)
        for number in range(8):
            pool.slot(f"s{number}", runs=("a@1", "b@1", "c@1"))
        counts = Counter(pool.task(id_).workflow for id_ in pool.hand_over())
        assert sorted(counts.values()) == [2, 3, 3]

    def test_higher_priority_goes_first_and_then_the_older(self, pool: Pool) -> None:
        low, plain, high = pool.submit(priority=-9), pool.submit(), pool.submit(priority=9)
        second = pool.submit(priority=9)
        pool.slot("s1")
        assert [task.id for task in served(pool, 4)] == [high.id, second.id, plain.id, low.id]

    def test_priority_holds_between_profiles(self, pool: Pool) -> None:
        plain = pool.submit("anna")
        high = pool.submit("bert", priority=1)
        pool.slot("s1")
        assert [task.id for task in served(pool, 2)] == [high.id, plain.id]

    def test_a_lane_keeps_no_priority_from_a_task_that_left_it(self, pool: Pool) -> None:
        """The urgent task is cancelled: what stays in its lane is not urgent."""
        urgent, plain = pool.submit("anna", priority=9), pool.submit("anna", priority=-9)
        middle = pool.submit("bert")
        tasks.cancel(pool.store, urgent.id, "eva")
        pool.slot("s1")
        assert [task.id for task in served(pool, 2)] == [middle.id, plain.id]

    def test_more_paused_lanes_than_are_examined_do_not_starve_others(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Also when those that wait have the higher priority."""
        monkeypatch.setattr(handover, "EXAMINE", 10)
        for number in range(45):
            pool.submit(f"p{number}", priority=9)
            switches.turn_on(pool.store, f"profile:p{number}", "eva")
        plain = [pool.submit("anna"), pool.submit("bert", priority=-9)]
        pool.slot("s1")
        assert [task.id for task in served(pool, 12)] == [task.id for task in plain]

    def test_what_can_start_among_the_best_is_found_at_once_whatever_else_waits(
        self, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(handover, "EXAMINE", 10)
        for number in range(45):
            pool.submit(f"p{number}")
            switches.turn_on(pool.store, f"profile:p{number}", "eva")
        pool.slot("s1")
        served(pool, 3)
        urgent = pool.submit("anna", priority=1)
        assert pool.hand_over() == [urgent.id]


class TestSlots:
    def test_a_slot_is_there_until_its_heartbeat_is_over(self, pool: Pool) -> None:
        pool.slot("s1", worker="w9")
        (alive,) = slots.alive(pool.store)
        assert (alive["id"], alive["worker"], alive["class"]) == ("s1", "w9", "class")
        assert slots.known_kinds(pool.store, [alive]) == {"shop@1"}
        pool.store.client.zadd(keys.SLOTS, {"s1": 1})
        assert slots.alive(pool.store) == []

    def test_a_slot_that_leaves_is_gone_at_once(self, pool: Pool) -> None:
        pool.slot("s1")
        slots.leave(pool.store, "s1", "class")
        assert slots.alive(pool.store) == []
        assert pool.store.client.exists(keys.slot("s1")) == 0

    def test_what_slots_leave_behind_when_they_die_does_not_pile_up(self, pool: Pool) -> None:
        pool.slot("dead")
        assert 0 < pool.store.client.ttl(keys.slot("dead")) <= 86_400
        pool.store.client.zadd(keys.SLOTS, {"dead": tasks.now_ms(pool.store) - 86_400_001})
        pool.slot("s1")
        assert pool.store.client.zrange(keys.SLOTS, 0, -1) == ["s1"]

    def test_the_heartbeat_answers_with_the_stores_time(self, pool: Pool) -> None:
        before = tasks.now_ms(pool.store)
        now = slots.heartbeat(pool.store, "s1", 5, {}, ["shop@1"], "class")
        assert before <= now <= tasks.now_ms(pool.store)


class TestLeader:
    def lead(self, pool: Pool, who: str, ttl_ms: int = 60_000) -> bool:
        return bool(pool.store.run("leader", [keys.LEADER], who, ttl_ms, "{}")["mine"])

    def test_one_leads_until_its_time_is_over_or_it_gives_up(self, pool: Pool) -> None:
        assert self.lead(pool, "a")
        with unchanged(pool.store):
            assert not self.lead(pool, "b")
            assert not self.lead(pool, "b", 0), "only the leader gives it up"
        assert self.lead(pool, "a")
        assert not self.lead(pool, "a", 0)
        assert self.lead(pool, "b")
        pool.store.client.hset(keys.LEADER, "expires_ms", 1)
        assert self.lead(pool, "a")
        assert not self.lead(pool, "b")
