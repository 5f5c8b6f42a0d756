"""Tasks that wait: accepted, due, handed back, forgotten."""

from __future__ import annotations

import pytest

from koala import keys, tasks, timeline
from koala.errors import InvalidArguments, InvalidName, NotFound, PayloadTooLarge
from koala.store import Store
from koala.tasks import Submission
from tests.support.pool import OPERATION, Pool, refused, unchanged


def actions(pool: Pool, task: tasks.Task) -> list[str]:
    return [event.action for event in timeline.read(pool.store, task.id)]


class TestSubmit:
    def test_an_accepted_task_is_ready_and_in_exactly_one_index(self, pool: Pool) -> None:
        """Promise 4."""
        task = pool.submit("anna", priority=3)
        assert (task.status, task.profile, task.priority, task.attempts) == ("ready", "anna", 3, 0)
        assert pool.where(task) == ["ready"]
        assert actions(pool, task) == ["task_submitted"]

    def test_a_task_due_later_waits_until_then(self, pool: Pool) -> None:
        due = tasks.now_ms(pool.store) + 60_000
        task = pool.submit(due_ms=due)
        assert (task.status, task.due_ms, pool.where(task)) == ("later", due, ["later"])
        assert tasks.promote(pool.store) == 0
        pool.slot("s1")
        assert pool.hand_over() == []

    def test_a_due_time_in_the_past_means_now(self, pool: Pool) -> None:
        task = pool.submit(due_ms=5)
        assert task.status == "ready"
        assert task.due_ms >= task.created_ms

    def test_the_same_id_again_answers_the_same_and_writes_nothing(self, store: Store) -> None:
        given = Submission("shop", 1, {}, id="chosen", deadline_ms=9_999_999_999_999)
        first = tasks.submit(store, given)
        with unchanged(store):
            again = tasks.submit(store, given)
        assert (first.id, first.existing, again.id, again.existing) == ("chosen", False, "chosen", True)

    def test_the_same_dedupe_key_again_answers_with_the_first_task_and_writes_nothing(self, store: Store) -> None:
        first = tasks.submit(store, Submission("shop", 1, {}, dedupe="cart-1"))
        with unchanged(store):
            again = tasks.submit(store, Submission("shop", 1, {"other": 1}, dedupe="cart-1"))
        assert (again.id, again.existing) == (first.id, True)

    def test_a_repeated_submission_with_id_and_key_writes_nothing(self, store: Store) -> None:
        given = Submission("shop", 1, {}, id="chosen", dedupe="cart-1")
        tasks.submit(store, given)
        with unchanged(store):
            assert tasks.submit(store, given).existing

    def test_a_dedupe_key_outlives_its_task(self, pool: Pool) -> None:
        """A key that was answered for makes no second task, also after retention has removed the first."""
        given = Submission("shop", 1, {}, id="chosen", dedupe="cart-1")
        tasks.submit(pool.store, given)
        tasks.cancel(pool.store, "chosen", "eva")
        assert tasks.forget(pool.store, tasks.now_ms(pool.store) + 1) == 1
        with unchanged(pool.store):
            assert tasks.submit(pool.store, given).existing

    def test_dedupe_keys_end_after_their_retention(self, store: Store) -> None:
        tasks.submit(store, Submission("shop", 1, {}, dedupe="cart-1"), dedupe_days=2)
        assert 172_700 < store.client.ttl(keys.dedupe("cart-1")) <= 172_800

    def test_what_cannot_be_accepted_is_refused_with_the_reason(self, store: Store) -> None:
        with unchanged(store):
            with pytest.raises(PayloadTooLarge, match=r"262\d+ bytes, at most 262144"):
                tasks.submit(store, Submission("shop", 1, {"n": "x" * 262_144}))
            with pytest.raises(PayloadTooLarge, match="at most 8"):
                tasks.submit(store, Submission("shop", 1, {"n": "é" * 4}), payload_bytes=8)
            with pytest.raises(InvalidArguments, match="priority 10"):
                tasks.submit(store, Submission("shop", 1, {}, priority=10))
            with pytest.raises(InvalidArguments, match="dedupe key"):
                tasks.submit(store, Submission("shop", 1, {}, dedupe="k" * 201))
            with pytest.raises(InvalidName):
                tasks.submit(store, Submission("shop", 1, {}, id="../up"))

    def test_text_that_is_no_unicode_is_kept_with_question_marks(self, store: Store) -> None:
        task = tasks.submit(store, Submission("shop", 1, {"name": "a\ud800b"}))
        assert tasks.get(store, task.id).args == '{"name":"a?b"}'

    def test_ids_sort_by_the_time_of_making(self) -> None:
        made = [tasks.new_id() for _ in range(50)]
        assert len(set(made)) == 50
        assert {len(id_) for id_ in made} == {18}
        times = [id_[:9] for id_ in made]
        assert times == sorted(times)


class TestReading:
    def test_a_task_that_is_not_there_is_said_to_be_missing(self, store: Store) -> None:
        with pytest.raises(NotFound, match="nothing"):
            tasks.get(store, "nothing")

    def test_fields_of_a_newer_koala_are_kept_aside(self, pool: Pool) -> None:
        task = pool.submit()
        pool.put(task, shape="new")
        assert pool.task(task).extra["shape"] == "new"

    def test_counts_and_ids_agree(self, pool: Pool) -> None:
        made = [pool.submit().id for _ in range(3)]
        tasks.cancel(pool.store, made[1], "eva")
        counts = tasks.counts(pool.store)
        assert (counts["ready"], counts["cancelled"], sum(counts.values())) == (2, 1, 3)
        assert sorted(tasks.ids(pool.store, "ready")) == sorted([made[0], made[2]])
        assert tasks.ids(pool.store, "ready", newest=True, limit=1) == [made[2]]
        assert [task.id for task in tasks.many(pool.store, [made[0], "nothing"])] == [made[0]]


class TestPromote:
    def test_a_due_task_becomes_ready_once(self, pool: Pool) -> None:
        task = pool.submit(due_ms=tasks.now_ms(pool.store) + 60_000)
        pool.put(task, due_ms=1)
        pool.store.client.zadd(keys.index("later"), {task.id: 1})
        assert tasks.promote(pool.store) == 1
        assert pool.where(task) == ["ready"]
        with unchanged(pool.store):
            assert tasks.promote(pool.store) == 0
            assert pool.store.run("promote", task.block, task.id) == refused("status", status="ready")

    def test_one_that_is_early_is_refused(self, pool: Pool) -> None:
        task = pool.submit(due_ms=tasks.now_ms(pool.store) + 60_000)
        with unchanged(pool.store):
            assert pool.store.run("promote", task.block, task.id) == refused("early")


class TestUnhand:
    def test_a_delivery_that_is_lost_makes_its_task_ready_again_at_its_old_place(self, pool: Pool) -> None:
        first, second = pool.submit(), pool.submit()
        pool.slot("s1")
        assert pool.hand_over() == [first.id]
        assert tasks.unhand(pool.store, pool.task(first), "gone")
        assert pool.where(first) == ["ready"]
        assert pool.store.client.zrange(keys.lane(first.lane), 0, -1) == [first.id, second.id]

    def test_a_later_hand_over_is_left_alone(self, pool: Pool) -> None:
        task = pool.submit()
        pool.slot("s1")
        pool.hand_over()
        old = pool.task(task)
        tasks.unhand(pool.store, old, "gone")
        pool.hand_over()
        with unchanged(pool.store):
            assert not tasks.unhand(pool.store, old, "gone")
        assert pool.status(task) == "handed"

    def test_a_running_task_is_not_taken_back(self, pool: Pool) -> None:
        attempt = pool.running()
        with unchanged(pool.store):
            assert not tasks.unhand(pool.store, attempt.task, "gone")


class TestForget:
    def test_an_ended_task_goes_after_its_retention_with_all_that_was_its(self, pool: Pool) -> None:
        attempt = pool.sent(pool.running("anna"))
        attempt.step("one")
        attempt.checkpoint("one", "1")
        attempt.settle(OPERATION, 1, "happened", token="token", receipt="1")
        attempt.gone("done")
        pool.ask(attempt, kind="approval")
        tasks.cancel(pool.store, attempt.task.id, "eva")
        assert tasks.forget(pool.store, pool.task(attempt.task).ended_ms) == 0, "not before its time"
        assert tasks.forget(pool.store, tasks.now_ms(pool.store) + 1) == 1
        left = {key for key in pool.store.client.keys("*") if attempt.task.id in key}
        assert left == set()
        assert pool.store.client.hkeys(keys.QUESTIONS) == ["last"]
        assert pool.effect().state == "happened", "the ledger stays"

    def test_what_has_not_ended_stays(self, pool: Pool) -> None:
        task = pool.submit()
        own = [keys.checkpoints(task.id), keys.attempts(task.id), keys.gone(task.id), keys.task_effects(task.id)]
        with unchanged(pool.store):
            assert tasks.forget(pool.store, tasks.now_ms(pool.store) + 1) == 0
            got = pool.store.run("forget", [*task.block, *own], task.id, 9_999_999_999_999)
        assert got == refused("status", status="ready")


def test_a_dedupe_key_with_half_a_character_is_refused(pool: Pool) -> None:
    """It would be written like another one, and the task would be taken for that one's."""
    with unchanged(pool.store), pytest.raises(InvalidName, match="half a character"):
        pool.submit(dedupe="a\ud83d")
