"""Proof that whoever held a lock is gone; or that it is not, or that nothing can be said."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from koala.errors import VolumeError
from worker.locks.errors import LockHeld, LockMissing
from worker.locks.file import clear_last_browser, holder_in, locked, open_file
from worker.locks.holder import Holder
from worker.volume import Volume


@dataclass(frozen=True)
class Gone:
    """Proof: the lock was free, and nothing of its last browser lives (what was left was ended)."""

    holder: Holder | None
    ended: tuple[int, ...] = ()


@dataclass(frozen=True)
class Alive:
    """The lock is held: its holder lives, or is frozen. No holder: it has not written its name yet."""

    holder: Holder | None


@dataclass(frozen=True)
class Unproved:
    """Neither gone nor alive: the lock file is missing, damaged or of another volume."""

    reason: str


def prove_gone(where: Volume, path: Path) -> Gone | Alive | Unproved:
    """Whether the lock's last holder is gone: take the lock, end what is left of its browser, give it back.

    Never creates the file, writes nothing into it: a lock file that is missing proves nothing.
    """
    try:
        descriptor = open_file(path)
    except LockMissing as error:
        return Unproved(str(error))
    try:
        content = locked(where, path, descriptor, patient=False)
        return Gone(holder_in(content), tuple(clear_last_browser(path, content)))
    except LockHeld as error:
        return Alive(error.holder)
    except VolumeError as error:
        return Unproved(str(error))
    finally:
        os.close(descriptor)
