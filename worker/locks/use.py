"""Making, reading and taking locks."""

from __future__ import annotations

import os
import uuid
from contextlib import suppress
from pathlib import Path

from koala.errors import VolumeError
from koala.fence import Fence
from worker import volume
from worker.locks.errors import LowerFence
from worker.locks.file import clear_last_browser, content_of, holder_in, locked, open_file
from worker.locks.held import HeldLock
from worker.locks.holder import Holder
from worker.locks.paths import LASTING, PASSING
from worker.volume import Volume
from worker.wrappers import lockfile


def create(where: Volume, path: Path) -> Path:
    """Make the lock file, free and with fence 0.0, unless it exists. Atomic and durable.

    Raises VolumeError where locks prove nothing, LockMissing on a file of another volume.
    """
    volume.refuse_unfit(path.parent)
    new = path.parent / f".new-{uuid.uuid4().hex}"
    descriptor = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        lockfile.write(descriptor, {"volume": where.mark, "fence": "0.0", "holder": None, "browser": None})
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        os.close(descriptor)
        new.unlink()
    read(where, path)
    return path


def read(where: Volume, path: Path) -> Holder | None:
    """Who holds or last held the lock, without taking it; None when nobody ever did.

    Raises LockMissing, LockDamaged.
    """
    descriptor = open_file(path)
    try:
        return holder_in(content_of(where, path, descriptor))
    finally:
        os.close(descriptor)


def highest_fence(where: Volume, path: Path) -> Fence:
    """The highest fence that ever took this lock; 0.0 when none did. Raises LockMissing, LockDamaged."""
    descriptor = open_file(path)
    try:
        return Fence.parse(content_of(where, path, descriptor)["fence"])
    finally:
        os.close(descriptor)


def highest_anywhere(where: Volume) -> Fence:
    """The highest fence in any lock file of the volume; 0.0 without one. A damaged file says nothing."""
    found = [Fence(0, 0)]
    for path in where.locks.iterdir():
        if path.name.startswith((*PASSING, LASTING)):
            with suppress(VolumeError):
                found.append(highest_fence(where, path))
    return max(found)


def take(where: Volume, path: Path, role: str, fence: Fence) -> HeldLock:
    """Take the lock for this process under its fence and write its name.

    What still lives of the lock's last browser is killed first. Raises LockHeld, LockMissing, LockDamaged,
    LowerFence.
    """
    descriptor = open_file(path)
    try:
        content = locked(where, path, descriptor, patient=True)
        _refuse_lower(path, content, fence)
        clear_last_browser(path, content)
        us = lockfile.this_process(role, str(fence), where.machine)
        lockfile.write(descriptor, {**content, "fence": str(fence), "holder": us})
    except BaseException:
        os.close(descriptor)
        raise
    return HeldLock(path, descriptor, Holder.read(us))


def _refuse_lower(path: Path, content: lockfile.Content, fence: Fence) -> None:
    known = Fence.parse(content["fence"])
    if known > fence:
        raise LowerFence(
            f"{path.name} knows fence {known}, ours is {fence}: we are the older attempt, "
            "or the store went back: it was restored without beginning a new epoch"
        )
