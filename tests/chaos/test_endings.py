"""How tasks end while something is under way: cancelled, expired, out of attempts, dead, or as the workflow says."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from koala import keys, reviews, tasks
from koala.reviews import Answer
from tests.support.live_pool import PATIENT, LivePool


@pytest.fixture(scope="module")
def busy() -> Iterator[LivePool]:
    """A running pool, shared: every test here leaves it whole."""
    with LivePool(KOALA_STEP_TIMEOUT_S="30", **PATIENT) as pool:
        pool.start(4)
        yield pool


def test_a_task_cancelled_in_a_step_stops_before_its_next(busy: LivePool) -> None:
    """Nothing is sent."""
    id_ = busy.errand("test.order", "c1", steps=2, gates=["step0"])
    busy.until_at("c1", "step0")
    assert not tasks.cancel(busy.store, id_, "ann", "not wanted")
    busy.open_gate("c1", "step0")
    task = busy.until_status(id_, "cancelled")

    assert task.reason == "cancelled by ann: not wanted"
    assert len(busy.events(id_, "step_started")) == 1
    assert not busy.events(id_, "effect_sent")
    assert task.attempts == 0


def test_a_task_cancelled_in_its_act_ends_when_that_is_settled(busy: LivePool) -> None:
    """Two effects: the first is finished, with its receipt; the second is not begun."""
    id_ = busy.errand("test.order", "c2", gates=["act"], effects=2)
    busy.until_at("c2", "act")
    assert not tasks.cancel(busy.store, id_, "ann")
    busy.open_gate("c2", "act")
    busy.until_status(id_, "cancelled")

    assert busy.effect("c2").state == "happened"
    assert (busy.orders("c2"), busy.orders("c2-1")) == (1, 0)


def test_a_cancelled_task_whose_act_is_unknown_ends_when_a_later_attempt_has_looked(busy: LivePool) -> None:
    """It is not done again: the gate is shut."""
    busy.shop.set_manners(error_before_store={"reference": "c3", "times": 1})
    id_ = busy.errand("test.order", "c3", gates=["act"])
    busy.until_at("c3", "act")
    tasks.cancel(busy.store, id_, "ann")
    busy.open_gate("c3", "act")
    busy.until_status(id_, "cancelled")

    assert busy.effect("c3").state == "absent"
    assert len(busy.events(id_, "effect_sent")) == 1
    assert busy.orders("c3") == 0


def test_a_waiting_task_is_cancelled_at_once(busy: LivePool) -> None:
    """It is in review; its question is closed with it."""
    id_ = busy.errand("test.order", "c4", approve=True)
    busy.until_status(id_, "review")
    question = busy.question(id_)
    assert tasks.cancel(busy.store, id_, "ann")
    assert busy.task(id_).status == "cancelled"
    assert reviews.get(busy.store, question.id).state == "withdrawn"


def _pass_the_deadline(pool: LivePool, id_: str) -> None:
    """It is over at this moment, however long it took to come here."""
    pool.store.client.hset(keys.task(id_), "deadline_ms", 1)
    pool.store.client.zadd(keys.DEADLINES, {id_: 1})


def test_a_task_past_its_deadline_stops_before_its_next_step(busy: LivePool) -> None:
    """The attempt that runs is not killed for it."""
    id_ = busy.errand("test.order", "e1", steps=2, gates=["step0"], deadline=timedelta(hours=1))
    busy.until_at("e1", "step0")
    _pass_the_deadline(busy, id_)
    busy.until_event(id_, "end_wanted", wanted="expired")
    assert busy.task(id_).status == "running"
    busy.open_gate("e1", "step0")
    busy.until_status(id_, "expired")
    assert not busy.events(id_, "effect_sent")


def test_a_task_past_its_deadline_in_its_act_expires_only_after_the_settlement(busy: LivePool) -> None:
    """Its child is killed too: an attempt after the deadline settles what is open, and then it ends."""
    busy.shop.set_manners(slow_store_ms={"reference": "e2", "ms": 4000})
    id_ = busy.errand("test.order", "e2", effects=2, settle_s=6, deadline=timedelta(hours=1))
    busy.until_arrived("e2")
    _pass_the_deadline(busy, id_)
    busy.until_event(id_, "end_wanted", wanted="expired")
    busy.kill_child(id_)
    busy.until_status(id_, "expired")

    happened, ended = busy.events(id_, "effect_happened", "task_expired")
    assert (happened.action, ended.action) == ("effect_happened", "task_expired")
    assert (busy.orders("e2"), busy.orders("e2-1")) == (1, 0)


def test_the_last_attempt_that_leaves_an_unknown_outcome_is_followed_by_one_that_settles_it(busy: LivePool) -> None:
    """Two attempts may fail: one does in a step, one in the act. The third looks, and the gate is shut for it."""
    id_ = busy.errand("test.raises", "x1", where="step before")
    busy.until_status(id_, "failed")

    ended = [event.data["outcome"] for event in busy.events(id_, "attempt_ended")]
    assert ended[:2] == ["failed", "failed"]
    assert len(ended) == 3
    assert len(busy.events(id_, "effect_sent")) == 1
    assert busy.effect("x1", "test.raises").state == "absent"
    assert busy.orders("x1") == 0


def test_a_last_attempt_whose_act_did_happen_is_done(busy: LivePool) -> None:
    """The answer was lost, the order is there: that is a success, whatever the attempts say."""
    busy.shop.set_manners(slow_store_ms={"reference": "x2", "ms": 2000})
    id_ = busy.errand("test.raises", "x2", where="step", times=1, act_s=0.5, settle_s=4)
    busy.until_done(id_)
    assert busy.task(id_).attempts == 2
    assert busy.orders("x2") == 1


def test_a_task_that_always_fails_has_all_its_attempts_and_no_more(busy: LivePool) -> None:
    """And its checkpoints and error are kept."""
    id_ = busy.errand("test.raises", "x3", where="step", times=9)
    task = busy.until_status(id_, "failed")
    assert task.attempts == 2
    assert task.error == "ValueError: it fails in step"
    assert len(busy.events(id_, "attempt_started")) == 2


def test_a_task_that_takes_its_worker_down_three_times_is_dead(busy: LivePool) -> None:
    """It is not run a fourth time."""
    id_ = busy.errand("test.exits", "d1", where="step", times=9)
    task = busy.until_status(id_, "dead")
    assert (task.crashes, task.attempts) == (3, 0)
    assert len(busy.events(id_, "attempt_started")) == 3
    assert "3 times" in task.reason


def test_a_dead_task_with_an_open_effect_asks_a_person_first(busy: LivePool) -> None:
    """It crashed in the act and in both looks. The answer settles the effect, and then the task is dead."""
    id_ = busy.errand("test.exits", "d2", where="before look", times=3)
    busy.until_status(id_, "review")
    question = busy.question(id_)
    assert not question.quiet
    assert busy.task(id_).wanted == "dead"

    reviews.answer(busy.store, question.id, Answer.LOOK_AGAIN, "ann")
    busy.until_status(id_, "dead")
    assert busy.effect("d2", "test.exits").state == "absent"
    assert busy.orders("d2") == 0


def test_a_dead_task_started_again_goes_on_from_its_checkpoints(busy: LivePool) -> None:
    """A person says retry; the step that was done is not done again."""
    id_ = busy.errand("test.exits", "d3", where="before look", times=3)
    busy.until_status(id_, "review")
    reviews.answer(busy.store, busy.question(id_).id, Answer.LOOK_AGAIN, "ann")
    busy.until_status(id_, "dead")
    tasks.retry(busy.store, id_, "ann")
    busy.until_done(id_)

    assert len(busy.events(id_, "step_done")) == 1
    assert busy.orders("d3") == 1


def test_a_snoozed_task_runs_again_and_has_spent_nothing(busy: LivePool) -> None:
    """It waits as long as it said."""
    id_ = busy.errand("test.signals", "s1", what="snooze")
    busy.until_done(id_)
    first, second = busy.events(id_, "attempt_started")
    assert second.at_ms - first.at_ms >= 500
    assert (busy.task(id_).attempts, busy.task(id_).crashes) == (0, 0)


def test_a_workflow_cancels_itself(busy: LivePool) -> None:
    """With its reason."""
    id_ = busy.errand("test.signals", "s2", what="cancel")
    assert busy.until_status(id_, "cancelled").reason == "it is not needed"


@pytest.mark.parametrize("where", ["step", "act"])
def test_a_workflow_that_blocks_its_event_loop_costs_its_attempt_only(busy: LivePool, where: str) -> None:
    """Promise 9: the parent ends the child at the deadline of the step or the act; the slot goes on."""
    id_ = busy.errand("test.hang", f"hang-{where}", where=where, act_s=1)
    busy.until_done(id_)
    assert busy.events(id_, "attempt_gone")
    assert busy.orders(f"hang-{where}") == 1


def test_half_a_character_costs_nothing_as_a_value(busy: LivePool) -> None:
    """It is written with a question mark; a receipt that could not be would leave its effect unknown."""
    id_ = busy.errand("test.halves", "h1")
    busy.until_done(id_)
    assert busy.result(id_) == [{"zo?": "zo?"}, "zo?"]
    assert busy.task(id_).progress


@pytest.mark.parametrize(
    ("what", "status", "said"),
    [
        ("error", "failed", "ValueError: zo?"),
        ("permanent", "failed", "zo?"),
        ("cancel", "cancelled", "zo?"),
        ("key", "failed", "the key of effect write 'zo\\ud83d' is not allowed"),
        ("subject", "failed", "the subject of a question 'zo\\ud83d' is not allowed"),
    ],
)
def test_half_a_character_in_what_a_workflow_raises_ends_it_as_it_says(
    busy: LivePool, what: str, status: str, said: str
) -> None:
    """As a part of a key it is refused: two such would be one."""
    id_ = busy.errand("test.halves", f"h-{what}", what=what)
    task = busy.until_status(id_, status)
    assert said in task.error + task.reason
    assert task.crashes == 0
