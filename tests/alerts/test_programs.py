"""Store, schedulers and workers: the word for the pool and the alerts, by the real rules."""

from __future__ import annotations

import pytest

from tests.support.promtool import FIRST, SECOND, Step, Story


def test_a_store_that_is_away_is_the_one_word_and_the_one_alert(story: Story) -> None:
    """All that follows from it is silent."""
    for who in (FIRST, SECOND):
        story.show("koala_store_up", (0, 1), (10, 0), who=who)
        story.show("koala_scheduler_active", (0, 0), (10, 0), who=who)
    story.waits("capacity", (0, 3))
    story.show("koala_failed_starts_in_a_row", (0, 0), (10, 5), program="worker")
    story.expect(20, "store away", "KoalaStoreAway")
    story.expect(38, "store away", "KoalaStoreAway")
    story.check()


def test_a_store_that_would_lose_writes_is_as_bad(story: Story) -> None:
    for who in (FIRST, SECOND):
        story.show("koala_store_durable", (0, 1), (10, 0), who=who)
    story.expect(15, "store away", "KoalaStoreAway")
    story.check()


def test_a_store_that_restarts_within_seconds_is_no_alarm(story: Story) -> None:
    for who in (FIRST, SECOND):
        story.show("koala_store_up", (0, 1), (10, 0), (10.17, 1), who=who)
    story.expect(10, "fine")
    story.expect(10.5, "fine")
    story.check()


def test_one_scheduler_that_cannot_reach_the_store_is_not_the_store(story: Story) -> None:
    story.show("koala_store_up", (0, 0), who=SECOND)
    story.expect(20, "fine")
    story.check()


def test_no_scheduler_is_said_when_none_leads(story: Story) -> None:
    story.silent(FIRST, 10)
    story.expect(10.5, "idle")  # a standby takes over within this time
    story.expect(15, "no scheduler", "KoalaNoScheduler")
    story.check()


def test_a_takeover_is_no_alarm_and_loses_no_count(story: Story) -> None:
    story.take_over(20)
    story.expect(21, "fine")
    story.expect(35, "fine")
    story.told(21, "sum(koala:tasks_finished_lately)", 60)
    story.told(21, "sum(koala:starts_lately)", 0)
    story.check()


def test_a_restored_store_whose_counters_went_back_is_no_crash_loop(story: Story) -> None:
    for name in ("koala_starts_total", "koala_failed_starts_total"):
        story.show(name, (0, 70), (20, 40), program="worker")
    story.expect(22, "fine")
    story.check()


@pytest.mark.parametrize("program", ["worker", "scheduler"])
def test_three_failed_starts_in_a_row_are_a_crash_loop(story: Story, program: str) -> None:
    """Also after the engine has given up restarting it."""
    story.show("koala_failed_starts_in_a_row", (0, 0), (10, 2), (11, 3), program=program)
    story.expect(10.7, "fine")
    story.expect(12, "crash loop", "KoalaCrashLoop")
    story.expect(39, "crash loop", "KoalaCrashLoop")
    story.check()


def test_a_worker_that_is_killed_and_started_again_and_again_is_a_crash_loop(story: Story) -> None:
    """Each time it comes up: its memory is full after a while, say."""
    ends: list[Step] = [(0, 1), (10, 2), (11.5, 3), (13, 4)]
    story.show("koala_failed_starts_total", *ends, program="worker")
    story.expect(12, "fine")
    story.expect(14.5, "crash loop", "KoalaCrashLoop")
    story.expect(30, "fine")
    story.check()


def test_a_machine_that_lost_its_power_is_no_crash_loop(story: Story) -> None:
    """Each of six workers has failed once."""
    story.workers((0, 6), (10, 0), (11, 6))
    story.show("koala_failed_starts_total", (0, 1), (11, 7), program="worker")
    story.show("koala_starts_total", (0, 7), (11, 13), program="worker")
    story.expect(14, "fine")
    story.check()


def test_a_rollout_is_no_crash_loop(story: Story) -> None:
    """Six workers replaced in batches of two, each old one ended cleanly."""
    story.show("koala_starts_total", (0, 7), (10, 9), (12, 11), (14, 13), program="worker")
    story.show("koala_clean_ends_total", (0, 1), (11, 3), (13, 5), (15, 7), program="worker")
    story.workers((0, 6), (10, 8), (11, 6), (12, 8), (13, 6), (14, 8), (15, 6))
    for minute in (10.5, 12.5, 14.5, 20, 30):
        story.expect(minute, "fine")
    story.check()


def test_scaling_up_down_to_none_and_back_is_no_alarm(story: Story) -> None:
    story.idle()
    story.workers((0, 2), (10, 4), (15, 0), (25, 2))
    story.show("koala_starts_total", (0, 7), (10, 9), (25, 11), program="worker")
    story.show("koala_clean_ends_total", (0, 1), (15.3, 5), program="worker")
    for minute in (9, 11, 14, 16, 22, 26, 39):
        story.expect(minute, "idle")
    story.check()


def test_a_worker_that_is_gone_without_a_word_is_missed(story: Story) -> None:
    """Its series end with it, so that `up` says nothing."""
    story.workers((0, 2), (10, 1))
    story.expect(14, "fine")
    story.expect(17, "fine", "KoalaProgramDown")
    story.expect(27, "fine")
    story.check()


def test_a_worker_that_was_killed_and_is_back_is_not_missed(story: Story) -> None:
    story.workers((0, 2), (10, 1), (11, 2))
    story.show("koala_starts_total", (0, 7), (11, 8), program="worker")
    for minute in (10.5, 12, 20):
        story.expect(minute, "fine")
    story.check()


def test_a_worker_that_the_pool_counts_and_nobody_can_read_is_missed(story: Story) -> None:
    story.show("up", (0, 1), (10, 0), who='instance="w1",job="worker"')
    story.expect(14, "fine")
    story.expect(16, "fine", "KoalaProgramDown")
    story.check()


def test_a_standby_that_does_not_answer_is_missed_and_one_that_left_is_not(story: Story) -> None:
    story.show("up", (0, 1), (10, 0), (20, None), who=SECOND)
    story.expect(16, "fine", "KoalaProgramDown")
    story.expect(30, "fine")
    story.check()


def test_targets_that_the_resolver_keeps_after_the_last_worker_left_are_no_alarm(story: Story) -> None:
    """It may answer with an error instead of nobody, and then the old ones stay, unreachable."""
    story.idle()
    story.workers((0, 2), (10, 0))
    story.show("koala_clean_ends_total", (0, 1), (10.2, 3), program="worker")
    for number in range(2):
        story.show("up", (0, 1), (10, 0), who=f'instance="w{number}",job="worker"')
    story.expect(30, "idle")
    story.check()
