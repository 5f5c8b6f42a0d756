"""Slots on trial: no real task meets them before a canary came through, and nothing of a canary is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import canary, counts, images, keys, switches, tasks, why
from koala.tasks import Submission
from koala.why import Reason
from tests.support.browsers import dying_browser
from tests.support.live_pool import PATIENT, LivePool
from tests.support.program import kill


@pytest.fixture
def pool() -> Iterator[LivePool]:
    """A pool with a scheduler, whose image is on trial."""
    with LivePool(**PATIENT) as opened:
        images.try_out(opened.store, counts.DEV, "the test")
        opened.scheduler()
        yield opened


def sing(pool: LivePool, profile: str = "canary-1") -> str:
    """Submit a canary."""
    return tasks.submit(pool.store, Submission(canary.NAME, 1, {}, profile=profile)).id


def on_trial(pool: LivePool) -> list[str]:
    return sorted(slot["trial"] for slot in pool.slots())


def traces(pool: LivePool) -> list[str]:
    """What the store has of classes that were of one slot alone."""
    found = [str(key) for key in pool.store.client.keys("*trial-*")]
    listed = [str(name) for name in pool.store.client.smembers("rq:queues") if "trial-" in str(name)]
    return found + listed


def left_of_canaries(pool: LivePool) -> list[str]:
    """What disk and store have of their profiles."""
    paths = [*pool.volume.profiles.glob("*canary*"), *pool.volume.locks.glob("*canary*")]
    return [path.name for path in paths] + list(map(str, pool.store.client.hkeys(keys.PROFILES)))


def test_a_slot_takes_other_work_after_its_canary_and_not_before(pool: LivePool) -> None:
    pool.worker(2)
    pool.until_slots(2)
    real = pool.order("after")
    one = sing(pool)
    pool.until_done(one)
    assert "." in pool.result(one)["browser"]
    pool.until_done(real)  # by the one that was tried
    assert pool.events(real, "attempt_started")[0].data["slot"] == pool.events(one, "attempt_started")[0].data["slot"]
    assert pool.events(real, "attempt_started")[0].at_ms >= pool.events(one, "attempt_ended")[0].at_ms
    pool.until(lambda: on_trial(pool) == ["0", "1"], "the other one waits for a canary of its own")
    other = sing(pool, "canary-2")
    pool.until_done(other)
    pool.until(lambda: on_trial(pool) == ["0", "0"], "both are in the pool")
    pool.until(lambda: not traces(pool), "nothing is left of their trial")
    pool.until(lambda: not left_of_canaries(pool), "nothing is left of the canaries")


def test_what_was_tried_once_is_not_tried_again_when_it_restarts(pool: LivePool) -> None:
    pool.worker(1)
    pool.until_slots(1)
    pool.until_done(sing(pool))
    pool.until(lambda: on_trial(pool) == ["0"], "it is in the pool")
    kill(pool.parents()[0])
    pool.until_done(pool.order("after a crash"))


def test_a_slot_on_trial_can_be_paused_and_drained_and_leaves_nothing(pool: LivePool) -> None:
    worker = pool.worker(1)
    pool.until_slots(1)
    switches.turn_on(pool.store, switches.POOL, "the test")
    waits = sing(pool)
    assert why.why(pool.store, pool.task(waits)).reason is Reason.PAUSED
    worker.terminate()
    assert worker.wait() == 0
    assert not traces(pool)
    switches.turn_off(pool.store, switches.POOL)
    assert tasks.cancel(pool.store, waits, "the test")


def test_a_canary_that_dies_costs_no_other_task_and_the_slot_can_be_tried_again(pool: LivePool, tmp_path: Path) -> None:
    browser = dying_browser(tmp_path, after_s=0.2)  # before a canary is done, however fast the machine
    browser.dies()
    pool.worker(1, KOALA_CHROMIUM=str(browser.path))
    pool.until_slots(1)
    real, first = pool.order("unharmed"), sing(pool)
    pool.until(lambda: pool.task(first).crashes or pool.task(first).status == "later", "the canary has died")
    assert tasks.cancel(pool.store, first, "the test") or pool.until_status(first, "cancelled")
    browser.lives()
    pool.until_done(sing(pool, "canary-2"), real)
    assert pool.task(real).crashes == pool.task(real).attempts == 0
    assert len(pool.events(real, "attempt_started")) == 1
