"""One deploy command at a time: a file lock that ends with its holder, however that ends.

The docker commands that a holder starts are given the lock too: one that is killed leaves them at work, and nobody may
begin anything before they have ended.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from deploy import interrupt
from deploy.exits import Exit
from deploy.problem import Problem
from deploy.say import Progress

PACE_S = 0.2


@contextmanager
def held(path: Path, command: str) -> Iterator[int]:
    """Hold it; its descriptor, and who inherits that holds it as well. Raises Problem naming a holder that lives.

    What a killed holder left at work is waited for: Interrupted.
    """
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _take(descriptor)
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()} {command}\n".encode(), 0)
        yield descriptor
    finally:
        os.close(descriptor)


def _take(descriptor: int) -> None:
    progress = Progress()
    while not _taken(descriptor):
        pid, _, command = os.pread(descriptor, 200, 0).decode().strip().partition(" ")
        if _lives(pid):
            raise Problem(
                f"`deploy {command}` is at work on this pool (process {pid})",
                "wait for it, or stop it with Ctrl-C there; then give this command again",
                Exit.REFUSED,
            )
        progress(f"`deploy {command}` is gone (process {pid}); waits for what it had begun with Docker to end")
        interrupt.sleep(PACE_S)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _lives(pid: str) -> bool:
    """Whether there is such a process; also where nothing was written down yet."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (ValueError, PermissionError):
        pass
    return True
