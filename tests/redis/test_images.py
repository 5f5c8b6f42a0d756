"""Images on trial, and images that the pool went back to."""

from __future__ import annotations

import pytest

from koala import images, switches
from koala.exits import Exit
from koala.store import Store
from tests.support.cli import Cli
from tests.support.redis_server import RedisServer


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def test_an_image_is_on_trial_from_its_word_to_its_acceptance(koala: Cli, store: Store) -> None:
    assert not images.is_on_trial(store, "new")
    koala.ok("image", "try", "new")
    koala.ok("image", "try", "new")
    assert images.is_on_trial(store, "new")
    assert not images.is_on_trial(store, "old")
    koala.ok("image", "accept", "new")
    assert not images.is_on_trial(store, "new")
    assert koala.ok("image", "accept", "new", "--json").data["changed"] is False


def test_going_back_ends_the_trial_and_the_next_trial_ends_what_going_back_allowed(koala: Cli, store: Store) -> None:
    """Else a later roll-out would undo what its own browser writes."""
    koala.ok("image", "try", "new")
    koala.ok("image", "back", "new", "--to", "old")
    assert images.went_back(store, "old")
    assert not images.went_back(store, "new")
    assert not images.is_on_trial(store, "new")
    koala.ok("image", "try", "newer")
    assert not images.went_back(store, "old")


def test_only_the_last_way_back_counts(koala: Cli, store: Store) -> None:
    koala.ok("image", "back", "c", "--to", "b")
    koala.ok("image", "back", "b", "--to", "a")
    assert (images.went_back(store, "a"), images.went_back(store, "b")) == (True, False)


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
