"""When a new image counts as worse than the old one."""

from __future__ import annotations

import pytest

from deploy import watch


def _counts(done: int = 0, **bad: int) -> dict[str, int]:
    return {"attempt|shop.order|done": done, **{f"attempt|shop.order|{kind}": number for kind, number in bad.items()}}


GOOD = _counts(done=1000, failed=2, crashed=1)


@pytest.mark.parametrize(
    ("new", "worse"),
    [
        (_counts(), False),
        (_counts(done=50), False),
        (_counts(failed=2), False),
        (_counts(crashed=2), False),
        (_counts(failed=3), True),
        (_counts(crashed=2, lost=1), True),
        (_counts(done=7, failed=3), False),
        (_counts(done=6, failed=4), True),
        (_counts(done=190, failed=10), False),
        (_counts(done=100, crashed=30), True),
        (_counts(parked=50, done=1), False),
    ],
)
def test_a_clear_margin_counts_and_a_few_events_do_not(new: dict[str, int], worse: bool) -> None:
    assert bool(watch.verdict(GOOD, GOOD, new, {})) == worse


def test_an_image_that_cannot_start_a_browser_is_worse_though_no_task_pays_for_it() -> None:
    assert watch.verdict(GOOD, GOOD, {"crash|no_browser": 5, "attempt|shop.order|parked": 5}, {})


def test_what_failed_before_the_roll_out_began_does_not_count() -> None:
    before = _counts(failed=40)
    assert not watch.verdict(GOOD, GOOD, _counts(done=5, failed=40), before)


def test_a_site_that_is_down_is_not_the_new_image_s_fault() -> None:
    """Both images fail since the roll-out began, though the old one's whole record is good."""
    old = _counts(done=1000, failed=32, crashed=1)
    assert not watch.verdict(old, GOOD, _counts(failed=10), {})


def test_an_old_image_that_fails_as_often_is_no_reason_to_go_back_to_it() -> None:
    old = _counts(done=50, failed=50)
    assert not watch.verdict(old, old, _counts(done=5, failed=5), {})


def test_without_any_record_of_the_old_image_three_of_three_is_worse() -> None:
    assert watch.verdict({}, {}, _counts(failed=3), {})


def test_canaries_are_judged_elsewhere() -> None:
    assert not watch.verdict(GOOD, GOOD, {"attempt|koala.canary|failed": 30}, {})


def test_the_reason_names_both_sides() -> None:
    said = watch.verdict(GOOD, GOOD, _counts(done=1, crashed=9), {})
    assert said == "9 of 10 attempts crashed with the new image, 1 of 1003 with the old one"


def test_the_chance_is_that_of_the_binomial_distribution() -> None:
    assert watch.chance(watch.Tally(ended=2, bad=1), 0.5) == pytest.approx(0.75)
    assert watch.chance(watch.Tally(ended=2, bad=0), 0.5) == 1.0
    assert watch.chance(watch.Tally(ended=4000, bad=4000), 0.5) == 0.0
