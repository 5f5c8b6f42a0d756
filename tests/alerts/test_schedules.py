"""Schedules that fire late: the word for the pool and the alert, by the real rules."""

from __future__ import annotations

from tests.support.promtool import FIRST, SECOND, Story

LAG = "koala_schedule_lag_seconds"


def test_a_schedule_that_nobody_decides_about_is_late_until_somebody_does(story: Story) -> None:
    story.show(LAG, (0, 0), (10, 0, 60), (20, 0))
    story.expect(10.9, "fine")
    story.expect(13, "starved", "KoalaScheduleLate")
    story.expect(19, "starved", "KoalaScheduleLate")
    story.expect(21, "fine")
    story.check()


def test_it_is_told_also_while_something_worse_holds(story: Story) -> None:
    """That every slot is busy is no reason for a schedule to be late."""
    story.show(LAG, (0, 0), (10, 0, 60))
    story.show("koala_stuck_attempts", (0, 0), (10, 1), sign="slot")
    story.expect(15, "stuck", "KoalaStuckWorker", "KoalaScheduleLate")
    story.check()


def test_what_is_overdue_while_no_scheduler_leads_is_told_as_that(story: Story) -> None:
    """The numbers of the pool end with the last one that knew them."""
    story.show(LAG, (0, 0), (9, 0, 60))
    story.silent(FIRST, 10)
    story.expect(15, "no scheduler", "KoalaNoScheduler")
    story.expect(35, "no scheduler", "KoalaNoScheduler")
    story.check()


def test_a_store_that_is_not_durable_explains_it(story: Story) -> None:
    for who in (FIRST, SECOND):
        story.show("koala_store_durable", (0, 1), (10, 0), who=who)
    story.show(LAG, (0, 0), (10, 0, 60))
    story.expect(20, "store away", "KoalaStoreAway")
    story.check()


def test_a_takeover_is_no_alarm(story: Story) -> None:
    """The new one comes upon what was due meanwhile, and is seen to before it has decided."""
    story.take_over(20)
    story.show(LAG, (0, None), (20.5, 10), (20.7, 0), who=SECOND)
    for minute in (21, 22, 23):
        story.expect(minute, "fine")
    story.check()


def test_a_pool_that_was_down_for_hours_and_catches_up_is_no_alarm(story: Story) -> None:
    story.show(LAG, (0, None), (10, 7200), (10.4, 3600), (10.7, 0))
    for minute in (9, 10.4, 10.7, 11, 12, 14):
        story.expect(minute, "fine")
    story.check()


def test_schedules_that_are_held_on_purpose_are_not_late(story: Story) -> None:
    """The lag leaves them out (`tests/redis/test_schedule_lag.py`); how many there are is no alarm."""
    for status, number in (("paused", 3), ("off", 2), ("over", 1), ("on", 0)):
        story.show("koala_schedules", (0, number), status=status)
    story.expect(30, "fine")
    story.check()
