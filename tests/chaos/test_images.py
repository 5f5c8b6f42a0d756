"""Two images in one pool: the new one is tried before it works, and the old one is let back to its profiles."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import canary, images, tasks
from koala.fence import Fence
from koala.tasks import Submission
from tests.support.live_pool import PATIENT, LivePool
from worker import locks, profiles

PROFILE = "ann"


@pytest.fixture
def pool() -> Iterator[LivePool]:
    """A pool with a scheduler."""
    with LivePool(**PATIENT) as opened:
        opened.scheduler()
        yield opened


def test_only_the_image_on_trial_has_to_pass_a_canary_and_what_starts_after_it_does_not(pool: LivePool) -> None:
    images.try_out(pool.store, "new", "the test")
    pool.worker(1, KOALA_IMAGE="old")
    pool.worker(1, KOALA_IMAGE="new")
    pool.until_slots(2)
    found = {"old": "0", "new": "1"}
    pool.until(
        lambda: {slot["image"]: slot["trial"] for slot in pool.slots()} == found, "the new one alone is on trial"
    )
    sung = tasks.submit(pool.store, Submission(canary.NAME, 1, {}, profile="canary-1")).id
    pool.until_done(sung)
    pool.until(lambda: {slot["trial"] for slot in pool.slots()} == {"0"}, "both take work")
    images.accept(pool.store, "new")
    pool.worker(1, KOALA_IMAGE="new")
    pool.until_slots(3)
    assert {slot["trial"] for slot in pool.slots()} == {"0"}


def _opened_by_a_newer_browser(pool: LivePool) -> None:
    """As a worker of the new image would leave the profile."""
    profile = profiles.find(pool.volume, PROFILE)
    record = profile.record()
    assert record.major
    assert record.fence
    with locks.take(pool.volume, profile.lock, "newer", Fence.parse(record.fence)) as held:
        profile.prepare(held, Path(str(record.binary)), record.major + 1)
    (profile.user_data / "Last Version").write_text(f"{record.major + 1}.0.1.2")
    (profile.user_data / "Default" / "Cookies").write_bytes(b"a format of tomorrow")


def test_after_a_roll_back_a_profile_of_a_newer_browser_is_logged_in_as_before(pool: LivePool) -> None:
    """Promise 10. Undeclared it waits instead, and says what to do; nothing is put back in silence."""
    pool.worker(1, KOALA_IMAGE="old")
    pool.until_slots(1)
    pool.until_done(pool.submit("shop.login", {"shop": pool.shop.url, "user": "ann"}, profile=PROFILE))
    _opened_by_a_newer_browser(pool)
    first = pool.order("before", workflow="shop.order", profile=PROFILE)
    pool.until_status(first, "later")
    assert "koala image back" in pool.task(first).reason
    images.go_back(pool.store, "new", "old", "the test")
    tasks.cancel(pool.store, first, "the test")
    second = pool.order("after", workflow="shop.order", profile=PROFILE)
    pool.until_done(second)
    assert pool.events(second, "profile_opened")[0].data["restored"].startswith("major-")
    assert (pool.orders("before"), pool.orders("after")) == (0, 1)
    assert (pool.task(second).attempts, pool.task(second).crashes) == (0, 0)
