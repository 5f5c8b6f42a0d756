"""Images on trial, and images that the pool went back to."""

from __future__ import annotations

import pytest

from koala import canary, images, leases, switches
from koala.exits import Exit
from koala.leases import Lease
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import TERMS, Pool
from tests.support.redis_server import RedisServer


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def may_undo(pool: Pool, *tags: str) -> list[bool]:
    """Whether an attempt of each image may undo what a newer browser did, as its lease tells."""
    return [pool.start(pool.submit(), facts={"image": tag}).lease.rolls_back for tag in tags]


def test_an_image_is_on_trial_from_its_word_to_its_acceptance(koala: Cli, store: Store) -> None:
    assert not images.is_on_trial(store, "new")
    koala.ok("image", "try", "new")
    koala.ok("image", "try", "new")
    assert images.is_on_trial(store, "new")
    assert not images.is_on_trial(store, "old")
    koala.ok("image", "accept", "new")
    assert not images.is_on_trial(store, "new")
    assert koala.ok("image", "accept", "new", "--json").data["changed"] is False


def test_going_back_ends_the_trial_and_the_next_trial_ends_what_going_back_allowed(koala: Cli, pool: Pool) -> None:
    """Else a later roll-out would undo what its own browser writes."""
    koala.ok("image", "try", "new")
    koala.ok("image", "back", "new", "--to", "old")
    assert may_undo(pool, "old", "new") == [True, False]
    assert not images.is_on_trial(pool.store, "new")
    koala.ok("image", "try", "newer")
    assert may_undo(pool, "old") == [False]


def test_accepting_says_what_speaks_for_an_image_also_that_nothing_does(koala: Cli, pool: Pool) -> None:
    koala.ok("image", "try", "new")
    ended(pool, "new", "done", workflow=canary.NAME, profile="canary-1")
    ended(pool, "new", "parked")
    ended(pool, "old", "done")
    assert "no attempt has ended with it" in koala.ok("image", "accept", "new").err
    koala.ok("image", "try", "new")
    for outcome in ("done", "done", "failed"):
        ended(pool, "new", outcome)
    accepted = koala.ok("image", "accept", "new", "--json").data
    assert accepted == {"image": "new", "trial": False, "changed": True, "attempts": {"done": 2, "failed": 1}}
    koala.ok("image", "try", "new")
    assert "is accepted: 3 attempts have ended with it (2 done, 1 failed)" in koala.ok("image", "accept", "new").err
    assert "was on no trial" in koala.ok("image", "accept", "new").err


def ended(pool: Pool, tag: str, outcome: str, **more: str) -> None:
    """An attempt of this image ends so."""
    attempt = pool.start(pool.submit(**more), facts={"image": tag})
    attempt.image = tag
    assert attempt.release(outcome, {})


def test_only_the_last_way_back_counts(koala: Cli, pool: Pool) -> None:
    koala.ok("image", "back", "c", "--to", "b")
    koala.ok("image", "back", "b", "--to", "a")
    assert may_undo(pool, "a", "b") == [True, False]


def test_a_lease_that_is_asked_for_again_and_renewed_still_tells_that_the_pool_went_back(
    koala: Cli, pool: Pool
) -> None:
    """What was told first may not have been heard."""
    koala.ok("image", "back", "new", "--to", "old")
    task, asked = pool.submit("anna"), {"token": "mine", "facts": {"image": "old"}}
    assert isinstance(pool.acquire(task, **asked), Lease)
    again = pool.acquire(task, **asked)
    assert isinstance(again, Lease)
    assert again.rolls_back
    renewed = leases.renew(pool.store, again, TERMS)
    assert renewed
    assert renewed.rolls_back


def test_both_show_in_the_status_and_are_no_pauses(koala: Cli, store: Store) -> None:
    switches.turn_on(store, switches.POOL, "ann")
    koala.ok("image", "try", "new", "--as", "deploy")
    assert "image new is on trial, by deploy" in koala.ok("status").out
    assert koala.ok("resume", "--all", "--json").data == {"ended": ["pool"], "left": []}
    assert images.is_on_trial(store, "new")
    koala.ok("image", "back", "new", "--to", "old", "--as", "deploy")
    assert "image old is gone back to, by deploy" in koala.ok("status").out


def test_a_tag_that_cannot_be_one_is_refused(koala: Cli, store: Store) -> None:
    assert koala("image", "try", "a b").code == Exit.USAGE
    assert switches.all_on(store) == {}
