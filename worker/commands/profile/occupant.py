"""Who has a profile's lock, as far as this machine can see, without taking it: a browser may be starting."""

from __future__ import annotations

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala.errors import VolumeError
from worker import locks, processes
from worker.locks import Holder
from worker.processes import Process
from worker.profiles import ProfileDirectory
from worker.wrappers import lockfile, proc


@dataclass(frozen=True)
class Occupant:
    """The process that holds a profile's lock. `process` is it where this machine and pid namespace can see it."""

    holder: Holder
    process: Process | None

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        holder = self.holder
        return {
            "role": holder.role,
            "pid": holder.pid,
            "fence": str(holder.fence),
            "machine": holder.machine,
            "in_sight": self.process is not None,
            "state": self.state,
        }

    @property
    def state(self) -> str:
        """`running`, `frozen` or, out of sight, `unknown`."""
        found = proc.stat(self.process.pid) if self.process else None
        return "unknown" if found is None else "frozen" if found.state in "Tt" else "running"

    @property
    def command(self) -> str:
        """The program of the process; empty out of sight."""
        try:
            return os.readlink(f"/proc/{self.holder.pid}/exe") if self.process else ""
        except OSError:
            return ""

    def __str__(self) -> str:
        where = "in sight" if self.process else "out of sight"
        return f"{self.holder}, {self.state}, {where}"


def occupant(profile: ProfileDirectory) -> Occupant | None:
    """Who holds the profile's lock now; None when nobody does or there is none. Raises LockDamaged."""
    try:
        holder = locks.read(profile.volume, profile.lock)
    except locks.LockMissing:
        return None
    if holder is None or not _held(profile.lock, holder):
        return None
    return Occupant(holder, in_sight(holder))


def in_sight(holder: Holder) -> Process | None:
    """The living process that a lock file names, where its pid means anything here."""
    same = holder.boot == processes.boot_id() and holder.pid_namespace == processes.pid_namespace()
    named = Process(holder.pid, holder.started)
    return named if same and processes.is_alive(named) else None


def _held(path: Path, holder: Holder) -> bool:
    """Whether the kernel's lock is taken."""
    if holder.pid_namespace == processes.pid_namespace() and holder.boot == processes.boot_id():
        return _listed(path)
    return _refused(path)


def _listed(path: Path) -> bool:
    """Whether the kernel lists a lock on the file; it lists those of our pid namespace."""
    inode = str(path.stat().st_ino)
    lines = (line.split() for line in Path("/proc/locks").read_text().splitlines())
    return any("FLOCK" in fields and fields[-3].rpartition(":")[2] == inode for fields in lines)


def _refused(path: Path) -> bool:
    """Whether a shared lock is refused. Taken for an instant only: out of sight there is no other way to know."""
    descriptor = lockfile.open_existing(str(path))
    if descriptor is None:
        raise VolumeError(f"{path} went away while it was looked at")
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
