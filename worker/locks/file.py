"""The text of a lock file, and the one way to take its lock."""

from __future__ import annotations

from pathlib import Path

from worker.locks.errors import LockDamaged, LockHeld, LockMissing
from worker.locks.holder import Holder
from worker.volume import Volume
from worker.wrappers import lockfile


def open_file(path: Path) -> int:
    descriptor = lockfile.open_existing(str(path))
    if descriptor is None:
        raise LockMissing(f"there is no lock file {path}: is this the right data volume?")
    return descriptor


def content_of(where: Volume, path: Path, descriptor: int) -> lockfile.Content:
    try:
        content = lockfile.read(descriptor)
    except lockfile.Damaged as error:
        raise LockDamaged(f"{path} is damaged ({error}): see that its holder is gone, then remove it") from None
    if content["volume"] != where.mark:
        raise LockMissing(f"{path} is of another volume ({content['volume']}, ours is {where.mark})")
    return content


def locked(where: Volume, path: Path, descriptor: int, *, patient: bool) -> lockfile.Content:
    """Lock or raise; then read, since only the holder's view of the text is settled."""
    got_it = lockfile.lock_patiently(descriptor) if patient else lockfile.lock(descriptor)
    if not got_it:
        holder = holder_in(content_of(where, path, descriptor))
        raise LockHeld(f"{path.name} is held by {holder or 'a process that has not named itself'}", holder)
    if not lockfile.is_at(descriptor, str(path)):
        raise LockMissing(f"the lock file {path} was removed while it was being taken")
    return content_of(where, path, descriptor)


def clear_last_browser(path: Path, content: lockfile.Content) -> list[int]:
    try:
        return lockfile.end_leftovers(content.get("browser"))
    except lockfile.Leftover as error:
        last = Holder.read(content["browser"])
        raise LockHeld(f"{path.name}: processes {error} of its last browser cannot be ended", last) from None


def holder_in(content: lockfile.Content) -> Holder | None:
    holder = content.get("holder")
    return None if holder is None else Holder.read(holder)
