"""Files that a person names: they may be anything, also one without an end."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import BinaryIO

MOST = 64 * 1024 * 1024
"""Bytes that are read of one, unless told otherwise."""


def text_of(path: Path, most: int = MOST) -> str:
    """A file's text. Raises OSError, also when it is longer than `most` bytes, and UnicodeDecodeError."""
    with path.open("rb") as file:
        return text_from(file, str(path), most)


def text_from(stream: BinaryIO, name: str, most: int = MOST) -> str:
    """The rest of a stream as text; never more than `most` bytes of it are held. Raises as `text_of`."""
    read = stream.read(most + 1)
    if len(read) > most:
        raise OSError(errno.EFBIG, f"it is longer than {most} bytes", name)
    return read.decode("utf-8")
