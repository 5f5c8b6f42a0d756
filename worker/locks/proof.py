"""Proof that whoever held a lock is gone; or that it is not, or that nothing can be said."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from koala.errors import VolumeError
from worker.locks.errors import LockHeld, LockMissing
from worker.locks.file import clear_last_browser, holder_in, locked, open_file
from worker.locks.holder import Holder
from worker.locks.paths import LASTING, PASSING
from worker.volume import Volume

PATIENCE_S = 0.3
"""How long a lock may be held by somebody who only looks, or who has taken it and not written its name yet."""


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


def still_there(where: Volume, below_epoch: int | None = None) -> Iterator[tuple[str, Alive | Unproved]]:
    """The lock files here whose holders are not proved gone; with `below_epoch` only those of older epochs.

    Nothing means that nobody who ever took a lock here before that epoch is left. A lock that a younger one holds is
    proof too: it was free, and whoever takes one ends what is left of the last browser. Blocking, short.
    """
    for path in sorted(where.locks.iterdir()):
        if path.name.startswith((*PASSING, LASTING)):
            found = _patiently(where, path, below_epoch)
            if found:
                yield path.name, found


def _patiently(where: Volume, path: Path, below_epoch: int | None) -> Alive | Unproved | None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        found = prove_gone(where, path)
        if isinstance(found, Gone) or not path.exists():  # only its holder removes a lock file
            return None
        if isinstance(found, Alive) and _is_younger(found.holder, below_epoch):
            return None
        if isinstance(found, Unproved) or time.monotonic() > deadline:
            return found
        time.sleep(0.02)


def _is_younger(holder: Holder | None, epoch: int | None) -> bool:
    return bool(holder and epoch is not None and holder.fence.epoch >= epoch)
