"""Work that goes on, waits or fails: the word for the pool and the alerts, by the real rules."""

from __future__ import annotations

import pytest

from tests.support.promtool import Story


@pytest.fixture
def story() -> Story:
    return Story()


def test_a_pool_at_work_is_fine(story: Story) -> None:
    story.expect(20, "fine")
    story.told(20, "sum(koala:tasks_finished_lately)", 60)
    story.check()


def test_a_pool_without_work_is_idle(story: Story) -> None:
    story.idle(5)
    story.expect(14, "fine")  # it finished something in the last ten minutes
    story.expect(30, "idle")
    story.check()


def test_work_that_waits_while_no_worker_is_there_is_said_so_and_alarms_when_it_is_old(story: Story) -> None:
    story.idle()
    story.workers((0, 0))
    story.waits("capacity", (0, 0), (5, 3))
    story.expect(8, "no worker")
    story.expect(34, "no worker")
    story.expect(37, "no worker", "KoalaOldestTask")
    story.check()


@pytest.mark.parametrize("reason", ["paused", "draining", "budget", "review", "version"])
def test_what_is_held_on_purpose_is_no_alarm(story: Story, reason: str) -> None:
    story.idle(1)
    story.waits(reason, (0, 0), (1, 5))
    story.expect(3, "held on purpose")
    story.expect(15, "held on purpose")
    story.check()


def test_a_pool_that_is_paused_for_long_is_no_alarm(story: Story) -> None:
    story.idle(1)
    story.waits("paused", (0, 0), (1, 5))
    story.expect(39, "held on purpose")
    story.check()


def test_a_question_beside_work_that_goes_on_holds_nothing_up(story: Story) -> None:
    story.waits("review", (0, 2))
    story.expect(20, "fine")
    story.check()


def test_what_is_due_tomorrow_is_idle(story: Story) -> None:
    story.idle()
    story.show("koala_tasks_waiting", (0, 4), reason="due")
    story.expect(30, "idle")
    story.check()


@pytest.mark.parametrize("sign", ["lease", "overdue", "slot"])
def test_an_attempt_that_should_have_ended_is_stuck(story: Story, sign: str) -> None:
    story.show("koala_stuck_attempts", (0, 0), (10, 1), sign=sign)
    story.expect(10.5, "fine")  # a moment of it is how a lost worker looks before it is noticed
    story.expect(14, "stuck", "KoalaStuckWorker")
    story.check()


def test_a_slot_that_says_nothing_while_its_worker_answers_is_stuck(story: Story) -> None:
    story.show(
        "koala_slot_last_beat_timestamp_seconds",
        (0, 1, 60),
        (10, 600),
        who='instance="w0",job="worker"',
        slot="0",
    )
    story.expect(10.5, "fine")
    story.expect(14, "stuck", "KoalaStuckWorker")
    story.check()


def test_a_slot_that_has_not_begun_to_beat_is_not_stuck(story: Story) -> None:
    story.show("koala_slot_last_beat_timestamp_seconds", (0, 0), who='instance="w0",job="worker"', slot="0")
    story.expect(14, "fine")
    story.check()


def test_a_profile_that_a_frozen_process_keeps_is_stuck(story: Story) -> None:
    story.waits("old holder", (0, 0), (10, 1))
    story.expect(14, "fine")
    story.expect(18, "stuck", "KoalaStuckWorker")
    story.check()


def test_more_work_than_slots_is_overload_and_alarms_when_the_oldest_is_old(story: Story) -> None:
    story.show("koala_slots", (0, 0), state="idle")
    story.waits("capacity", (0, 0), (5, 20))
    story.expect(9, "fine")
    story.expect(20, "overload")
    story.expect(37, "overload", "KoalaOldestTask")
    story.check()


def test_work_that_waits_for_slots_that_wait_for_work_is_starved(story: Story) -> None:
    """The hand-over is broken."""
    story.idle()
    story.waits("capacity", (0, 0), (10, 3))
    story.expect(10.5, "fine")
    story.expect(15, "starved")
    story.expect(25, "starved", "KoalaNoCompletion")
    story.check()


def test_what_is_due_and_not_made_ready_is_starved(story: Story) -> None:
    story.idle()
    story.waits("due", (0, 0), (10, 3))
    story.expect(15, "starved")
    story.check()


def test_work_waits_and_nothing_ends_is_an_alarm(story: Story) -> None:
    """Every slot is busy with something that does not move."""
    story.full(5)
    story.show("koala_attempt_quiet_seconds", (0, 5), (5, 0, 60))
    story.waits("capacity", (0, 0), (5, 3))
    story.expect(20, "fine")
    story.expect(27, "fine", "KoalaNoCompletion")
    story.check()


def test_what_is_stuck_is_told_once(story: Story) -> None:
    """That nothing ends follows from it."""
    story.full(5)
    story.show("koala_attempt_quiet_seconds", (0, 5), (5, 0, 60))
    story.show("koala_stuck_attempts", (0, 0), (5, 2), sign="overdue")
    story.waits("capacity", (0, 0), (5, 3))
    story.expect(27, "stuck", "KoalaStuckWorker")
    story.check()


def test_long_tasks_that_move_are_no_alarm(story: Story) -> None:
    story.full(5)
    story.waits("capacity", (0, 0), (5, 3))
    story.expect(30, "fine")
    story.check()


def test_many_failed_attempts_are_failing(story: Story) -> None:
    """Four a minute beside six that are done."""
    story.show("koala_attempts_total", (0, 0), (10, 0, 4), workflow="shop.order", outcome="failed")
    story.expect(12, "fine")
    story.expect(20, "failing")
    story.expect(28, "failing", "KoalaFailing")
    story.check()


def test_a_few_failures_of_few_attempts_are_not_failing(story: Story) -> None:
    """One failure in a quiet pool is a large share, and says little."""
    story.idle()
    story.show("koala_attempts_total", (0, 0), (10, 5), workflow="shop.order", outcome="failed")
    story.expect(15, "idle")
    story.check()
