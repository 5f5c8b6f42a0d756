"""A site that nobody here wrote: the Roundup issue tracker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.live_pool import LivePool
from tests.support.program import kill
from tests.support.roundup import Roundup


@pytest.fixture(scope="module")
def roundup() -> Iterator[Roundup]:
    """One tracker for all tests here."""
    with Roundup() as running:
        yield running


@pytest.mark.timeout(240)
def test_a_child_killed_right_after_the_submit_leaves_one_issue(pool: LivePool, roundup: Roundup) -> None:
    """Promise 3 at a site that takes no reference: the search finds the issue, and no second one is made."""
    pool.start(1)
    id_ = pool.errand("test.report", "r-17", shop=roundup.url, gates=["submitted"], act_s=60, profile="tracker")
    pool.until_at("r-17", "submitted")
    pool.until(lambda: pool.slot(id_)["task"] == id_, "its slot's heartbeat")
    kill(pool.child_of(id_))
    pool.until_event(id_, "attempt_ended", outcome="crashed")
    pool.open_gate("r-17", "submitted")
    pool.until_done(id_)
    assert roundup.titles() == ["It smells of eucalyptus [r-17]"]
    assert pool.events(id_, "effect_happened")[0].data["how"] == "confirm"


@pytest.mark.timeout(240)
def test_the_example_as_it_is_makes_one_issue(pool: LivePool, roundup: Roundup) -> None:
    """What its README says."""
    pool.start(1)
    args = {"tracker": roundup.url, "title": "Too quiet", "reference": "r-18"}
    id_ = pool.submit("roundup.issue", args)
    pool.until_done(id_)
    assert roundup.titles().count("Too quiet [r-18]") == 1
