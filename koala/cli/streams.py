"""The standard streams of a program: closed, full, or without a reader."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper

from koala.errors import OutputLost


@contextmanager
def written() -> Iterator[None]:
    """Inside, standard output is written. Raises OutputLost, or BrokenPipeError when its reader has left."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputLost(f"standard output cannot be written: {error.strerror}") from None


def prepare() -> None:
    """Make the standard streams of a program whole: closed ones, and terminals of few letters."""
    for number, way in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        _reopen(number, way)
    sys.stdin = sys.stdin or open(0, closefd=False)  # noqa: SIM115 - as long as the program
    sys.stdout = sys.stdout or open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False)  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # shows escapes instead of failing
            stream.reconfigure(errors="backslashreplace")


def _reopen(number: int, way: int) -> None:
    """Put something where a stream is closed, or the store's connection would take its number.

    Standard output can then not be written, which is told like a disk that is full.
    """
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, way)
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        os.set_inheritable(number, True)  # a worker's command takes our place


def flush() -> None:
    """What was written is out. Raises OutputLost, or BrokenPipeError when its reader has left."""
    with written():
        sys.stdout.flush()


def give_up() -> None:
    """What cannot be written is dropped, or Python would try again at its end and say so at length."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
