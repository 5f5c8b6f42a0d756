"""The log of a LevelDB: which keys a browser has written since a moment.

A LevelDB appends each write to its newest log before anything else happens. Format: blocks of 32 KiB with fragments
of records, a record being a batch of puts and deletions (LevelDB's `doc/log_format.md` and `write_batch.cc`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = 32 * 1024
HEADER = 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
BATCH_HEADER = 12
PUT = 1


@dataclass(frozen=True)
class Position:
    """How far a database had been written: the name of its newest log and that log's size. Empty before the first."""

    log: str = ""
    size: int = 0


def position(database: Path) -> Position:
    """Where the next write will be appended."""
    newest = _newest(database)
    return Position(newest.name, newest.stat().st_size) if newest else Position()


def keys_since(database: Path, since: Position) -> set[bytes] | None:
    """The keys that were put or deleted after that position; None when it cannot be told, since another log began.

    Not for a database whose browser was restarted: that begins a log by itself.
    """
    newest = _newest(database)
    if newest is None:
        return None if since.log else set()
    if since.log not in ("", newest.name):
        return None
    records = (record for end, record in _records(newest.read_bytes()) if end > since.size)
    return {key for record in records for key in _keys(record)}


def _newest(database: Path) -> Path | None:
    return max(database.glob("*.log"), default=None, key=lambda path: path.name)


def _records(log: bytes) -> Iterator[tuple[int, bytes]]:
    """Each whole record with the offset of its end. What a killed writer left half done is not there."""
    begun = b""
    for end, kind, piece in _fragments(log):
        begun = piece if kind in (FULL, FIRST) else begun + piece
        if kind in (FULL, LAST):
            yield end, begun


def _fragments(log: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = 0
    while at + HEADER <= len(log):
        kind, end = log[at + 6], at + HEADER + int.from_bytes(log[at + 4 : at + 6], "little")
        if BLOCK - at % BLOCK < HEADER or kind not in (FULL, FIRST, MIDDLE, LAST):
            at += BLOCK - at % BLOCK  # the rest of a block is padding
            continue
        if end > len(log):
            return
        yield end, kind, log[at + HEADER : end]
        at = end


def _keys(batch: bytes) -> Iterator[bytes]:
    at = BATCH_HEADER
    while at < len(batch):
        is_put = batch[at] == PUT
        key, at = _text(batch, at + 1)
        yield key
        if is_put:
            _, at = _text(batch, at)


def _text(batch: bytes, at: int) -> tuple[bytes, int]:
    length, at = _number(batch, at)
    return batch[at : at + length], at + length


def _number(batch: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(batch):
        byte, at = batch[at], at + 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return value, at
