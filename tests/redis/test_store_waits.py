"""A task that waits for what only its next attempt can find out is tried ever more seldom, and tells it briefly."""

from __future__ import annotations

import pytest

from koala import keys, tasks, timeline
from tests.support.pool import Pool

ALIVE = {"wait": "old holder", "reason": "old holder alive: b2", "delay_ms": 2000, "delay_most_ms": 60_000}


def again(pool: Pool, task: tasks.Task, **details: object) -> float:
    """One more attempt that ends in the wait; after how many seconds the next is due."""
    attempt = pool.start(task)
    attempt.record("takeover_started", {"operation": "shop/order/1"})
    before = tasks.now_ms(pool.store)
    assert attempt.release("parked", {**ALIVE, **details}) == "later"
    due = pool.task(task).due_ms
    pool.put(task, due_ms=1)
    pool.store.client.zadd(keys.index("later"), {task.id: 1})
    assert tasks.promote(pool.store) == 1
    return round((due - before) / 1000)


def test_the_pause_doubles_up_to_its_limit(pool: Pool) -> None:
    task = pool.submit("anna")
    assert [again(pool, task) for _ in range(8)] == pytest.approx([2, 4, 8, 16, 32, 60, 60, 60], abs=1)


@pytest.mark.parametrize("between", ["snoozed", "crashed", "another wait"])
def test_after_anything_else_it_begins_anew(pool: Pool, between: str) -> None:
    task = pool.submit("anna")
    for _ in range(3):
        again(pool, task)
    if between == "another wait":
        again(pool, task, wait="key")
    else:
        pool.start(task).release(between, {})
    assert again(pool, task) == pytest.approx(2, abs=1)


def test_a_wait_without_limits_does_not_grow(pool: Pool) -> None:
    task = pool.submit("anna")
    assert [again(pool, task, delay_most_ms=0) for _ in range(3)] == pytest.approx([2, 2, 2], abs=1)


def test_the_timeline_tells_the_first_try_and_counts_the_others(pool: Pool) -> None:
    task = pool.submit("anna")
    again(pool, task)
    first = [event.id for event in timeline.read(pool.store, task.id)]
    for _ in range(20):
        again(pool, task)
    events = timeline.read(pool.store, task.id)
    assert [event.id for event in events][: len(first)] == first
    assert [event.action for event in events][len(first) :] == ["still_waits"]
    assert events[-1].data == {"times": 21, "why": "old holder alive: b2"}


def test_the_attempt_that_goes_on_is_told_whole(pool: Pool) -> None:
    task = pool.submit("anna")
    for _ in range(3):
        again(pool, task)
    attempt = pool.start(task)
    attempt.record("log", {"text": "here"})
    attempt.release("done", {"result": "1"})
    said = [event.action for event in timeline.read(pool.store, task.id)]
    assert said[said.index("still_waits") :] == ["still_waits", "attempt_started", "log", "attempt_ended", "task_done"]
