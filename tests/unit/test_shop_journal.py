"""The shop's files: a record exists if and only if its whole line is in the file."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path

import pytest

from demo.shop.journal import Journal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.jsonl"


@pytest.fixture
def journal(path: Path) -> Journal:
    journal = Journal(path)
    journal.open_for_writing()
    return journal


def test_what_was_appended_is_read_back_in_order(journal: Journal) -> None:
    journal.append({"n": 1})
    journal.append({"n": 2, "text": "two\nlines"})
    assert journal.records()[0] == [{"n": 1}, {"n": 2, "text": "two\nlines"}]


def test_a_journal_without_a_file_is_empty(path: Path) -> None:
    assert Journal(path).records() == ([], 0)


def test_reading_goes_on_where_it_stopped(journal: Journal) -> None:
    journal.append({"n": 1})
    _, position = journal.records()
    assert journal.records(position) == ([], position)
    journal.append({"n": 2})
    assert journal.records(position)[0] == [{"n": 2}]


def test_an_append_has_synced_its_line_before_it_returns(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bytes] = []
    monkeypatch.setattr(os, "fsync", lambda fd: synced.append(path.read_bytes()))
    journal.append({"n": 1})
    assert synced == [b'{"n":1}\n']


def test_a_torn_last_line_is_no_record_even_when_it_is_whole_json(journal: Journal, path: Path) -> None:
    journal.append({"n": 1})
    for torn in (b'{"n":', b'{"n":2}'):
        path.write_bytes(b'{"n":1}\n' + torn)
        assert Journal(path).records() == ([{"n": 1}], 8)


def test_the_next_writer_cuts_a_torn_line_off_and_goes_on_behind_the_last_whole_one(path: Path) -> None:
    path.write_bytes(b'{"n":1}\n{"n":')
    journal = Journal(path)
    journal.open_for_writing()
    assert path.read_bytes() == b'{"n":1}\n'
    journal.append({"n": 2})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"n": 1}, {"n": 2}]


def test_a_broken_line_in_the_middle_is_an_error_and_not_skipped(path: Path) -> None:
    path.write_bytes(b'{"n":\n{"n":2}\n')
    with pytest.raises(ValueError, match="line 1"):
        Journal(path).records()


def test_a_line_that_the_disk_refused_leaves_nothing_behind(
    journal: Journal, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    journal.append({"n": 1})
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse)
        with pytest.raises(OSError, match="No space"):
            journal.append({"n": 2})
    journal.append({"n": 3})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [{"n": 1}, {"n": 3}]


def test_a_second_writer_is_refused(journal: Journal, path: Path) -> None:
    with pytest.raises(BlockingIOError):
        Journal(path).open_for_writing()


def test_a_reader_cannot_write(path: Path) -> None:
    with pytest.raises(RuntimeError, match="open_for_writing"):
        Journal(path).append({"n": 1})
