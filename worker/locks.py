"""Kernel locks of attempts, drivers and browsers: a lock is free when its holder is gone, and never stale.

K is the child's lock of one attempt, D a driver's of its life, B a browser's: the profile's own lock, or
one of its life for a browser without a profile. All are files in the volume's `locks/`, with the volume's
mark inside. Nothing here blocks: a lock is taken now or refused with its holder's name.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from koala import names
from koala.errors import KoalaError, StoreWentBack, VolumeError
from koala.exits import Exit
from koala.fence import Fence
from worker import volume
from worker.volume import Volume
from worker.wrappers import lockfile

PASSING = ("child-", "driver-", "browser-")
"""Beginnings of the names of locks that are used for one life; a profile's lock stays for ever."""


@dataclass(frozen=True)
class Holder:
    """A process as a lock file names it. When the lock is free it is the last holder."""

    role: str
    fence: Fence
    pid: int
    started: int
    session: int
    pid_namespace: str
    machine: str
    boot: str

    @classmethod
    def read(cls, content: dict[str, Any]) -> Holder:
        kept = {name: content[name] for name in cls.__dataclass_fields__ if name != "fence"}
        return cls(fence=Fence.parse(content["fence"]), **kept)

    def __str__(self) -> str:
        return f"{self.role} (pid {self.pid}, fence {self.fence}, machine {self.machine[:8]})"


class LockHeld(KoalaError):
    """The lock is held by a living process. `holder` names it, None when it has not written its name yet."""

    code, exit, retry = "lock_held", Exit.REFUSED, True

    def __init__(self, text: str, holder: Holder | None = None) -> None:
        super().__init__(text)
        self.holder = holder


class LockMissing(VolumeError):
    """There is no such lock file, or it is of another volume. That is not proof of anything."""

    code = "lock_missing"


class LockDamaged(VolumeError):
    """The lock file's text cannot be read, so its fence is unknown."""

    code = "lock_damaged"


class LowerFence(StoreWentBack):
    """The lock knows a higher fence than ours: the store went back in time, or we are the older attempt."""

    code = "lower_fence"


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


class HeldLock:
    """A lock in our hands, until `release`, the end of the context, or our end."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        self._descriptor = descriptor

    @property
    def is_held(self) -> bool:
        return self._descriptor >= 0

    def release(self) -> None:
        """Give the lock back; again is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> bool:
        """Remove the file if it is still ours, and give the lock back.

        Never for a profile's: it keeps the fence.
        """
        ours = self._descriptor >= 0 and lockfile.is_at(self._descriptor, str(self.path))
        if ours:
            self.path.unlink()
        self.release()
        return ours

    def __enter__(self) -> HeldLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def child_path(where: Volume, fence: Fence) -> Path:
    """K: the lock of the child that runs the attempt of this fence."""
    return where.locks / f"child-{fence}"


def driver_path(where: Volume) -> Path:
    """D: a new lock for a driver's life."""
    return where.locks / f"driver-{uuid.uuid4().hex}"


def browser_path(where: Volume) -> Path:
    """B of a browser without a profile: a new lock for its life."""
    return where.locks / f"browser-{uuid.uuid4().hex}"


def profile_path(where: Volume, profile: str) -> Path:
    """B of a profile, for all its browsers. Raises InvalidName."""
    return where.locks / f"profile-{names.check('profile', profile)}"


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
    descriptor = _open(path)
    try:
        return _holder(_content(where, path, descriptor))
    finally:
        os.close(descriptor)


def highest_fence(where: Volume, path: Path) -> Fence:
    """The highest fence that ever took this lock; 0.0 when none did. Raises LockMissing, LockDamaged."""
    descriptor = _open(path)
    try:
        return Fence.parse(_content(where, path, descriptor)["fence"])
    finally:
        os.close(descriptor)


def take(where: Volume, path: Path, role: str, fence: Fence) -> HeldLock:
    """Take the lock for this process under its fence and write its name.

    What still lives of the lock's last browser is killed first. Raises LockHeld, LockMissing, LockDamaged,
    LowerFence.
    """
    descriptor = _open(path)
    try:
        content = _lock(where, path, descriptor)
        _refuse_lower(path, content, fence)
        _clear(path, content)
        us = lockfile.this_process(role, str(fence), where.machine)
        lockfile.write(descriptor, {**content, "fence": str(fence), "holder": us})
    except BaseException:
        os.close(descriptor)
        raise
    return HeldLock(path, descriptor, Holder.read(us))


def prove_gone(where: Volume, path: Path) -> Gone | Alive | Unproved:
    """Whether the lock's last holder is gone: take the lock, end what is left of its browser, give it back.

    Never creates the file, writes nothing into it: a lock file that is missing proves nothing.
    """
    try:
        descriptor = _open(path)
    except LockMissing as error:
        return Unproved(str(error))
    try:
        content = _lock(where, path, descriptor)
        return Gone(_holder(content), tuple(_clear(path, content)))
    except LockHeld as error:
        return Alive(error.holder)
    except VolumeError as error:
        return Unproved(str(error))
    finally:
        os.close(descriptor)


def remove_free(where: Volume, path: Path) -> bool:
    """Remove a lock file that nobody holds; False when it is held or not there. Never for a profile's lock.

    Only when no open `sent` names it: a missing lock file proves nothing, so that effect could never be
    settled.
    """
    try:
        held = take(where, path, "removing", highest_fence(where, path))
    except (LockHeld, VolumeError):
        return False
    return held.remove()


def sweep(where: Volume, keep: Container[str], older_than_seconds: float) -> list[str]:
    """Remove free lock files of attempts, drivers and throw-away browsers that have long been out of use.

    `keep` has the names that open `sent` records hold. Returns what was removed.
    """
    limit = time.time() - older_than_seconds
    old = [p for p in where.locks.iterdir() if p.name.startswith(PASSING) and p.stat().st_mtime < limit]
    return [path.name for path in old if path.name not in keep and remove_free(where, path)]


def _open(path: Path) -> int:
    descriptor = lockfile.open_existing(str(path))
    if descriptor is None:
        raise LockMissing(f"there is no lock file {path}: is this the right data volume?")
    return descriptor


def _content(where: Volume, path: Path, descriptor: int) -> lockfile.Content:
    try:
        content = lockfile.read(descriptor)
    except lockfile.Damaged as error:
        raise LockDamaged(
            f"{path} is damaged ({error}): see that its holder is gone, then remove it"
        ) from None
    if content["volume"] != where.mark:
        raise LockMissing(f"{path} is of another volume ({content['volume']}, ours is {where.mark})")
    return content


def _lock(where: Volume, path: Path, descriptor: int) -> lockfile.Content:
    """Lock or raise; then read, since only the holder's view of the text is settled."""
    if not lockfile.lock(descriptor):
        holder = _holder(_content(where, path, descriptor))
        raise LockHeld(f"{path.name} is held by {holder or 'a process that has not named itself'}", holder)
    if not lockfile.is_at(descriptor, str(path)):
        raise LockMissing(f"the lock file {path} was removed while it was being taken")
    return _content(where, path, descriptor)


def _clear(path: Path, content: lockfile.Content) -> list[int]:
    try:
        return lockfile.end_leftovers(content.get("browser"))
    except lockfile.Leftover as error:
        last = Holder.read(content["browser"])
        raise LockHeld(f"{path.name}: processes {error} of its last browser cannot be ended", last) from None


def _refuse_lower(path: Path, content: lockfile.Content, fence: Fence) -> None:
    known = Fence.parse(content["fence"])
    if known > fence:
        raise LowerFence(
            f"{path.name} knows fence {known}, ours is {fence}: we are the older attempt, "
            "or the store went back: it was restored without beginning a new epoch"
        )


def _holder(content: lockfile.Content) -> Holder | None:
    holder = content.get("holder")
    return None if holder is None else Holder.read(holder)
