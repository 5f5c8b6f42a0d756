"""The file of a program's starts: one line of JSON for each start, each time it became ready, and each end."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

LONGEST = 2000
"""A line in characters: short enough to be appended whole."""
LARGEST = 256 * 1024
"""A file that has grown so large, and was copied, is set aside."""


@dataclass(frozen=True)
class Entry:
    """One line. `life` is the same in all lines of one start."""

    at_ms: int
    program: str
    event: str
    """`start`, `ready` or `end`."""
    host: str
    pid: int
    image: str
    life: str
    exit: int | None = None
    reason: str = ""
    lived_s: float = 0.0


@dataclass(frozen=True)
class Page:
    """What was read from one file: its name among the files ever, its new entries, and how far it was read."""

    path: Path
    id: str
    entries: list[Entry]
    upto: int


def append(directory: Path, entry: Entry) -> None:
    """Add a line, in one write, after whatever others write. Raises OSError."""
    text = json.dumps({name: value for name, value in asdict(entry).items() if value not in (None, "", 0.0)})
    descriptor = os.open(directory / f"{entry.program}.jsonl", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        os.write(descriptor, text.encode(errors="replace")[:LONGEST] + b"\n")
    finally:
        os.close(descriptor)


def pages(directory: Path, program: str, read: dict[str, int]) -> list[Page]:
    """What of a program's files was not read yet, those set aside first; `read` says how far each was, by id.

    Empty without files. A line that is not whole yet is left for the next time. Raises OSError.
    """
    aside = sorted(directory.glob(f"{program}.*.jsonl"), key=lambda path: path.stat().st_mtime)
    found = (_page(path, read) for path in [*aside, directory / f"{program}.jsonl"] if path.exists())
    return [page for page in found if page]


def recent(directory: Path, program: str) -> list[Entry]:
    """The last entries of a program, oldest first; empty when there are none or they cannot be read."""
    try:
        with (directory / f"{program}.jsonl").open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LARGEST // 4))
            return list(_entries(file.read()))
    except OSError:
        return []


def set_aside(page: Page) -> None:
    """Rename the current file when it is large and was read to here; a writer that has it open loses nothing."""
    if page.upto >= LARGEST and page.path.name.count(".") == 1:
        page.path.rename(page.path.with_name(f"{page.path.stem}.{page.id}.jsonl"))


def remove_old(page: Page, before_s: float) -> None:
    """Remove a file that was set aside and has not changed since."""
    if page.path.name.count(".") > 1 and page.path.stat().st_mtime < before_s:
        page.path.unlink(missing_ok=True)


def _page(path: Path, read: dict[str, int]) -> Page | None:
    with path.open("rb") as file:
        id_ = hashlib.sha256(file.readline()).hexdigest()[:16]
        begin = read.get(id_, 0)
        file.seek(begin)
        whole, newline, _ = file.read(2 * LARGEST).rpartition(b"\n")
    if not newline and not begin:
        return None  # its first line is still being written
    return Page(path, id_, list(_entries(whole)), begin + len(whole + newline))


def _entries(text: bytes) -> Iterator[Entry]:
    """The lines that are ours."""
    for line in text.splitlines():
        try:
            got: Any = json.loads(line)
            yield Entry(**{name: got[name] for name in Entry.__dataclass_fields__ if name in got})
        except (ValueError, TypeError, KeyError):
            continue
