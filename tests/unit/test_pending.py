"""Which origins' local storage was lost with a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.test_leveldb import add, put, write
from worker.profiles import databases
from worker.profiles.pending import Pending

ANN, BOB = "https://ann.example", "https://bob.example:8443"


@pytest.fixture
def pending(tmp_path: Path) -> Pending:
    (tmp_path / "user-data" / "Default" / databases.LOCAL_STORAGE).mkdir(parents=True)
    return Pending(tmp_path)


def chromium_writes(pending: Pending, *origins: str) -> None:
    """A log in which these were written."""
    write(pending._database, add(b"", *(put(b"META:" + origin.encode(), b"\x08\x01") for origin in origins)))


def test_what_was_not_written_is_lost(pending: Pending) -> None:
    assert pending.lost() == {}
    pending.keep({ANN: {"token": "1"}, BOB: {}})
    assert pending.lost() == {ANN: {"token": "1"}, BOB: {}}


def test_another_origin_says_nothing_also_when_it_begins_the_same(pending: Pending) -> None:
    pending.keep({ANN: {"token": "1"}, BOB: {"token": "2"}})
    chromium_writes(pending, BOB, f"{ANN}:444", ANN.removesuffix("e"))
    assert pending.lost() == {ANN: {"token": "1"}}
    assert pending.lost(everything=True).keys() == {ANN, BOB}, "for a database that was replaced"


def test_keeping_forgets_what_is_written(pending: Pending) -> None:
    """So the file does not grow with every site that is visited."""
    pending.keep({ANN: {"token": "1"}})
    chromium_writes(pending, ANN)
    pending.keep({BOB: {"token": "2"}})
    assert pending.lost(everything=True) == {BOB: {"token": "2"}}


def test_keeping_again_counts_from_now(pending: Pending) -> None:
    chromium_writes(pending, ANN)
    pending.keep({ANN: {"token": "2"}})
    assert pending.lost() == {ANN: {"token": "2"}}


def test_what_cannot_be_told_is_left_to_chromium(pending: Pending) -> None:
    """Another log begins after megabytes: what is on disk then is newer, as a rule."""
    chromium_writes(pending)
    pending.keep({ANN: {"token": "1"}})
    write(pending._database, b"", "000005.log")
    assert pending.lost() == {}


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"a": 1}', '{"a": {"items": 3, "position": {}}}', '{"a": {"items": {}}}']
)
def test_a_damaged_file_has_nothing(pending: Pending, text: str) -> None:
    pending.path.write_text(text)
    assert pending.lost() == {}
    pending.keep({ANN: {}})
    assert pending.lost() == {ANN: {}}


def test_clearing_forgets_all(pending: Pending) -> None:
    pending.keep({ANN: {}})
    pending.clear()
    pending.clear()
    assert pending.lost(everything=True) == {}
