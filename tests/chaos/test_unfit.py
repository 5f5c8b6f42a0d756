"""Workers on which browsers start and die again: they do not begin, or rest, and burn no task."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from koala.exits import Exit
from tests.support.browsers import dying_browser
from tests.support.live_pool import PATIENT, LivePool

CHECKED = "1"


@pytest.fixture
def pool() -> Iterator[LivePool]:
    """Nothing started yet. What counts as a crash is what the test lets die, and no lease that ran out."""
    with LivePool(**PATIENT) as opened:
        yield opened


def test_a_worker_whose_browser_does_not_come_up_ends_and_says_why(pool: LivePool, tmp_path: Path) -> None:
    browser = dying_browser(tmp_path, after_s=0.3)
    browser.dies()
    worker = pool.worker(1, KOALA_CHROMIUM=str(browser.path), KOALA_LAUNCH_CHECK=CHECKED)
    pool.until(lambda: worker.exit_code is not None, "the worker has ended")
    assert worker.exit_code == Exit.BROWSER
    assert "full browser" in worker.text
    assert not pool.slots()


def test_a_worker_that_goes_bad_rests_and_a_task_survives_it(pool: LivePool, tmp_path: Path) -> None:
    """One crash is charged to the task; for a second one the worker has to show that it is not to blame."""
    browser = dying_browser(tmp_path, name="chromium-headless-shell")
    pool.scheduler()
    pool.worker(1, KOALA_HEADLESS_SHELL=str(browser.path), KOALA_LAUNCH_CHECK=CHECKED)
    pool.until_slots(1)
    id_ = pool.errand("test.browse", "survives", gates=["step"])
    pool.until_at("survives", "step")
    browser.dies()
    pool.until(lambda: [slot["accepting"] for slot in pool.slots()] == ["0"], "the slot rests")
    assert pool.task(id_).crashes == 1, pool.story(id_)
    pool.open_gate("survives", "step")
    pool.worker(1)
    pool.until_done(id_)
    assert pool.task(id_).crashes == 1, pool.story(id_)
    assert pool.orders("survives") == 1


def test_a_task_that_is_the_cause_itself_is_dead_after_three_crashes(pool: LivePool) -> None:
    pool.scheduler()
    pool.worker(1, KOALA_LAUNCH_CHECK=CHECKED)
    pool.until_slots(1)
    id_ = pool.errand("test.exits", "cause", where="step", times=9)
    assert pool.until_status(id_, "dead").crashes == 3
    pool.until_done(pool.errand("test.browse", "after", profile="after"))
