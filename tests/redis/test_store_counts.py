"""Counters in the store: each attempt and each ended task once, whoever was killed."""

from __future__ import annotations

from koala import counts, keys, leases, reviews, tasks
from koala.counts import DEV, NOBODY, OLDER, Counts
from koala.store import Store
from koala.tasks import Task
from tests.support.pool import Pool, unchanged


def of(store: Store, image: str = DEV) -> Counts:
    """What was counted for an image."""
    return counts.by_image(store).get(image, Counts())


def test_an_attempt_is_counted_with_its_outcome_and_its_task_with_its_end(pool: Pool) -> None:
    pool.running().release("done", {"result": "1"})
    pool.running(workflow="mail").release("failed", {"backoff_ms": 0})
    assert of(pool.store).attempts == {("shop", "done"): 1, ("mail", "failed"): 1}
    assert of(pool.store).ended == {("shop", "done"): 1}, "the failed one has attempts left"
    assert of(pool.store).crashes == {}


def test_an_attempt_is_counted_once_however_often_its_end_is_written(pool: Pool) -> None:
    """A release that got no answer is written again."""
    attempt = pool.running()
    attempt.release("crashed", {"crash": "tab"})
    with unchanged(pool.store):
        attempt.release("crashed", {"crash": "tab"})
        attempt.release("done", {})
    assert of(pool.store).public() == {
        "attempts": {"shop": {"crashed": 1}},
        "ended": {},
        "crashes": {"tab": 1},
    }


def test_an_attempt_of_a_killed_worker_is_counted_as_lost_by_whoever_notices(pool: Pool) -> None:
    attempt = pool.running()
    pool.lose(attempt)
    assert of(pool.store).attempts == {("shop", "lost"): 1}
    assert of(pool.store).crashes == {"worker": 1}
    with unchanged(pool.store):
        assert attempt.release("done", {}) is None
        leases.rescue(pool.store)


def test_a_store_that_was_away_is_no_crash(pool: Pool) -> None:
    attempt = pool.running()
    pool.lapse(attempt.lease)
    leases.rescue(pool.store, crashed=False)
    assert of(pool.store).attempts == {("shop", "lost"): 1}
    assert of(pool.store).crashes == {}


def test_a_lost_attempt_counts_for_the_image_that_ran_it(pool: Pool) -> None:
    """The scheduler that finds it may be of another."""
    pool.lose(pool.start(pool.submit(), facts={"image": "old"}))
    pool.tick()
    pool.running().release("done", {})
    assert list(counts.by_image(pool.store)) == ["old", DEV], "what was counted last comes last"
    assert of(pool.store, "old").attempts == {("shop", "lost"): 1}
    assert of(pool.store).attempts == {("shop", "done"): 1}


def test_the_third_crash_ends_the_task_and_counts_that(pool: Pool) -> None:
    task = pool.submit()
    for _ in range(3):
        pool.start(task).release("crashed", {"crash": "browser"})
    assert of(pool.store).crashes == {"browser": 3}
    assert of(pool.store).ended == {("shop", "dead"): 1}


def test_a_browser_that_did_not_start_is_counted_though_it_costs_the_task_nothing(pool: Pool) -> None:
    task = pool.submit()
    pool.start(task).release("parked", {"crash": "no_browser", "delay_ms": 1000})
    assert of(pool.store).crashes == {"no_browser": 1}
    assert pool.task(task).crashes == 0


def test_a_kind_that_is_not_on_the_list_is_other(pool: Pool) -> None:
    pool.running().release("crashed", {"crash": "a text out of a page"})
    pool.running().release("crashed", {})
    assert of(pool.store).crashes == {"other": 2}
    assert pool.store.hash(keys.counts(DEV))["crash|other"] == "2", "in the store too: texts of pages would fill it"


def test_what_ends_without_an_attempt_is_nobodys(pool: Pool) -> None:
    cancelled, expired = pool.submit(), pool.submit(deadline_ms=1)
    tasks.cancel(pool.store, cancelled.id, "eva")
    tasks.expire(pool.store)
    asked = pool.ask(pool.running(), kind="approval")
    reviews.answer(pool.store, asked.id, reviews.Answer.REJECT, "eva")
    assert pool.status(expired) == "expired"
    assert of(pool.store, NOBODY).ended == {("shop", "cancelled"): 2, ("shop", "expired"): 1}
    assert of(pool.store, NOBODY).attempts == {}


def test_a_full_record_counts_further_workflows_as_other(pool: Pool) -> None:
    """Names that nobody bounds would fill the store and every screen."""
    pool.running().release("done", {})
    pool.store.client.hset(keys.counts(DEV), mapping={f"attempt|w{number}|done": 1 for number in range(2000)})
    for workflow in ("new", "newer", "shop"):
        pool.running(workflow=workflow).release("done", {})
    found = of(pool.store)
    assert (found.attempts["other", "done"], found.ended["other", "done"]) == (2, 2)
    assert (found.attempts["shop", "done"], found.ended["shop", "done"]) == (2, 2)


def test_counters_of_several_images_add_up(pool: Pool) -> None:
    for image in ("one", "two"):
        _release(pool, pool.submit(), image)
    total = counts.total(counts.by_image(pool.store).values())
    assert total.attempts == {("shop", "done"): 2}
    assert total.workflows == {"shop"}


def _release(pool: Pool, task: Task, image: str) -> None:
    attempt = pool.start(task)
    attempt.image = image
    attempt.release("done", {})


def test_images_of_long_ago_are_counted_together(pool: Pool) -> None:
    """A release a day for years: neither the store nor a scrape may grow with them, and no counter goes back."""
    tasks.cancel(pool.store, pool.submit().id, "eva")
    for number in range(4):
        _release(pool, pool.submit(), f"release-{number}")
    before = counts.total(counts.by_image(pool.store).values())
    assert counts.fold(pool.store, keep=2) == 2
    assert set(counts.by_image(pool.store)) == {NOBODY, OLDER, "release-2", "release-3"}
    assert of(pool.store, OLDER).attempts == {("shop", "done"): 2}
    assert counts.total(counts.by_image(pool.store).values()) == before
    with unchanged(pool.store):
        assert counts.fold(pool.store, keep=3) == 0


def test_what_a_newer_koala_counts_besides_is_left_out(pool: Pool) -> None:
    pool.running().release("done", {})
    pool.store.client.hset(keys.counts(DEV), mapping={"spend|shop": 7, "attempt|a|b|c": 1, "crash|flood": 2})
    found = of(pool.store)
    assert found.attempts == {("shop", "done"): 1}
    assert found.crashes == {"other": 2}
