"""An append-only file of JSON lines."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any


class Journal:
    """A record exists if and only if its whole line, newline included, is in the file.

    Reading needs no lock and works while another process writes. Writing belongs to one process at a time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    def open_for_writing(self) -> None:
        """Take the file for this process and cut off a last line that a crash has torn.

        Raises BlockingIOError when another process writes it. The lock ends with the process.
        """
        self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(self._fd, len(_whole_lines(self.path.read_bytes())))
        os.fsync(self._fd)
        _sync_directory(self.path.parent)

    def append(self, record: Mapping[str, object]) -> None:
        """Write one record; it is durable when this returns. Blocks for one fsync.

        When the disk refuses, nothing of the line stays in the file and OSError is raised.
        """
        if self._fd is None:
            raise RuntimeError(f"{self.path.name} is open for reading only: call open_for_writing()")
        before = os.fstat(self._fd).st_size
        try:
            _write_all(self._fd, json.dumps(record, separators=(",", ":")).encode() + b"\n")
            os.fsync(self._fd)
        except OSError:
            os.ftruncate(self._fd, before)
            raise

    def records(self, start: int = 0) -> tuple[list[dict[str, Any]], int]:
        """The records from byte `start` on, and the byte at which to go on next time.

        Empty when there is no file. A torn last line is no record; a broken line before it is a ValueError.
        """
        if not self.path.exists():
            return [], start
        with self.path.open("rb") as file:
            file.seek(start)
            whole = _whole_lines(file.read())
        return [json.loads(line) for line in whole.splitlines()], start + len(whole)


def _whole_lines(data: bytes) -> bytes:
    return data[: data.rfind(b"\n") + 1]


def _write_all(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]


def _sync_directory(path: Path) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
