"""Which keys were written since a moment, from a log made by an independent hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from worker.profiles import leveldb
from worker.profiles.leveldb import BLOCK, Position


def number(value: int) -> bytes:
    """A number as LevelDB writes it: seven bits a byte, the smallest first."""
    return bytes([value]) if value < 128 else bytes([value % 128 + 128]) + number(value // 128)


def put(key: bytes, value: bytes) -> bytes:
    return b"\x01" + number(len(key)) + key + number(len(value)) + value


def delete(key: bytes) -> bytes:
    return b"\x00" + number(len(key)) + key


def add(log: bytes, *operations: bytes) -> bytes:
    """A log with one more batch, cut at the ends of blocks."""
    rest, first = bytes(8) + len(operations).to_bytes(4, "little") + b"".join(operations), True
    while True:
        room = BLOCK - len(log) % BLOCK
        if room < 7:
            log, room = log + bytes(room), BLOCK
        piece, rest = rest[: room - 7], rest[room - 7 :]
        kind = {(True, True): 1, (True, False): 2, (False, False): 3, (False, True): 4}[first, not rest]
        log += bytes(4) + len(piece).to_bytes(2, "little") + bytes([kind]) + piece
        first = False
        if not rest:
            return log


def write(directory: Path, log: bytes, name: str = "000003.log") -> Position:
    """Put the log there; where it ends."""
    (directory / name).write_bytes(log)
    return leveldb.position(directory)


def test_a_database_that_is_not_there_has_written_nothing(tmp_path: Path) -> None:
    assert leveldb.position(tmp_path / "none") == Position()
    assert leveldb.keys_since(tmp_path / "none", Position()) == set()


def test_puts_and_deletions_after_a_position_are_told(tmp_path: Path) -> None:
    log = add(b"", put(b"before", b"1"))
    here = write(tmp_path, log)
    assert here == Position("000003.log", len(log))
    assert leveldb.keys_since(tmp_path, here) == set()
    write(tmp_path, add(add(log, put(b"a", b"2"), delete(b"b")), put(b"c", b"3")))
    assert leveldb.keys_since(tmp_path, here) == {b"a", b"b", b"c"}
    assert leveldb.keys_since(tmp_path, Position()) == {b"before", b"a", b"b", b"c"}


@pytest.mark.parametrize("size", [0, 1, BLOCK - 60, BLOCK - 34, *range(BLOCK - 33, BLOCK - 20), BLOCK, 5 * BLOCK + 3])
def test_records_may_end_anywhere_in_a_block(tmp_path: Path, size: int) -> None:
    here = write(tmp_path, add(b"", put(b"first", b"x" * size)))
    write(tmp_path, add(add(b"", put(b"first", b"x" * size)), put(b"second", b"y" * size), put(b"third", b"z")))
    assert leveldb.keys_since(tmp_path, here) == {b"second", b"third"}


def test_what_a_killed_writer_left_half_done_is_not_written(tmp_path: Path) -> None:
    whole = add(b"", put(b"a", b"1"))
    for cut in (1, 6, 7, 30):
        write(tmp_path, whole + add(b"", put(b"b", b"2" * 40))[:cut])
        assert leveldb.keys_since(tmp_path, Position("000003.log", 0)) == {b"a"}


def test_nothing_can_be_told_across_logs(tmp_path: Path) -> None:
    here = write(tmp_path, add(b"", put(b"a", b"1")))
    write(tmp_path, b"", "000005.log")
    assert leveldb.keys_since(tmp_path, here) is None
    for log in tmp_path.glob("*.log"):
        log.unlink()
    assert leveldb.keys_since(tmp_path, here) is None
