"""One deploy command at a time: a file lock that ends with its holder, however that ends."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy.exits import Exit
from deploy.problem import Problem


@contextmanager
def held(path: Path, command: str) -> Iterator[None]:
    """Hold it. Raises Problem naming the other's process when it is taken."""
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {command}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pid, _, command = os.pread(descriptor, 200, 0).decode().strip().partition(" ")
        raise Problem(
            f"`deploy {command}` is at work on this pool (process {pid})",
            "wait for it, or stop it with Ctrl-C there; then give this command again",
            Exit.REFUSED,
        ) from None
