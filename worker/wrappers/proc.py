"""What the kernel knows about a process: standard library only, so that the wrappers can use it."""

from __future__ import annotations

import ctypes
import os
import signal
from pathlib import Path
from typing import NamedTuple

PR_SET_PDEATHSIG = 1
DEAD = frozenset("ZXx")
"""States of a main thread that has ended."""


class Stat(NamedTuple):
    """One line of /proc/PID/stat. `started` is in clock ticks since boot: with the pid it names a process."""

    pid: int
    state: str
    parent: int
    group: int
    session: int
    threads: int
    started: int

    @property
    def ended(self) -> bool:
        """Whether it runs nothing and holds nothing open: a zombie whose other threads are gone too.

        The main thread of a killed process is a zombie while others still hold its files and locks.
        """
        return self.state in DEAD and self.threads <= 1


def stat(pid: int) -> Stat | None:
    """The process of that pid, also a zombie; None when there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return _parse(pid, text)


def every() -> list[Stat]:
    """Every process this pid namespace can see, zombies included. Not one instant: it is read one by one."""
    pids = (int(entry) for entry in os.listdir("/proc") if entry.isdigit())
    return [found for found in map(stat, pids) if found is not None]


def _parse(pid: int, text: bytes) -> Stat:
    # The command's name may hold spaces and brackets: count from the last bracket.
    fields = text[text.rindex(b")") + 2 :].split()
    parent, group, session, threads, started = (int(fields[at]) for at in (1, 2, 3, 17, 19))
    return Stat(pid, fields[0].decode(), parent, group, session, threads, started)


def boot_id() -> str:
    """The kernel's id of this boot; it differs after every start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def pid_namespace() -> str:
    """Which pid namespace we are in; only inside the same one do pids of a lock file mean anything here."""
    return os.readlink("/proc/self/ns/pid")


def set_parent_death_signal(expected_parent: int) -> bool:
    """Have the kernel SIGKILL us when the thread that made us ends; False when that parent is already gone.

    Survives exec. Our own children do not inherit it. Call it after exec, in the main thread.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG)")
    return os.getppid() == expected_parent
