"""Processes of the demo: found, frozen, killed and accounted for, always by pid and start time."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import psutil

PR_SET_CHILD_SUBREAPER = 36
LONGEST_END_S = 10.0
ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def become_subreaper() -> None:
    """Have orphans below us come to us instead of to init: then nothing that we started is out of sight."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def lives(process: psutil.Process) -> bool:
    """Whether it still runs or is frozen; a zombie does not."""
    try:
        return process.is_running() and process.status() not in ENDED
    except psutil.NoSuchProcess:
        return False


def below(pid: int) -> list[psutil.Process]:
    """Living descendants, parents first; empty when there are none or the process is gone."""
    try:
        found = psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return [process for process in found if lives(process)]


def tree(pid: int) -> list[psutil.Process]:
    """The process and its living descendants, parents first; empty when it is gone."""
    try:
        root = psutil.Process(pid)
    except psutil.NoSuchProcess:
        return []
    return [root, *below(pid)] if lives(root) else []


def arguments(process: psutil.Process) -> list[str]:
    """Its command line; empty when it is gone or not ours to read."""
    try:
        return process.cmdline()
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return []


def kill(process: psutil.Process) -> bool:
    """SIGKILL; False when it was gone already."""
    try:
        process.kill()
    except psutil.NoSuchProcess:
        return False
    return True


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL, in this order, at once. Frozen ones end as well."""
    for process in processes:
        kill(process)


def freeze(pid: int) -> list[psutil.Process]:
    """SIGSTOP a process and everything below it, also what it starts meanwhile; returns them, parents first."""
    frozen: dict[psutil.Process, None] = {}
    while new := [process for process in tree(pid) if process not in frozen]:
        for process in new:
            with suppress(psutil.NoSuchProcess):
                process.suspend()
            frozen[process] = None
    return list(frozen)


def thaw(processes: Iterable[psutil.Process]) -> None:
    """SIGCONT; those that have ended are left out."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.resume()


def end_all_below_us(seconds: float = LONGEST_END_S) -> list[psutil.Process]:
    """SIGKILL every descendant of ours until none is left; returns what the kernel itself would not end."""
    deadline = time.monotonic() + seconds
    while left := below(os.getpid()):
        if time.monotonic() > deadline:
            return left
        kill_all(left)
        reap_orphans()
        time.sleep(0.02)
    reap_orphans()
    return []


def reap_orphans(known: Iterable[int] = ()) -> None:
    """Collect ended children of ours that nobody waits for; the `known` have someone."""
    kept = frozenset(known)
    for child in psutil.Process().children():
        if child.pid not in kept:
            with suppress(ChildProcessError, psutil.NoSuchProcess):
                if child.status() == psutil.STATUS_ZOMBIE:
                    os.waitpid(child.pid, os.WNOHANG)


def leftovers(home: Path) -> list[psutil.Process]:
    """Living processes, whoever started them, that name this directory: in arguments, environment or cwd."""
    mark = str(home)
    return [process for process in psutil.process_iter() if process.pid != os.getpid() and _works_in(process, mark)]


def _works_in(process: psutil.Process, mark: str) -> bool:
    try:
        if not lives(process):
            return False
        told = [*process.cmdline(), *process.environ().values(), process.cwd()]
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return any(_is_in(text, mark) for text in told)


def _is_in(text: str, mark: str) -> bool:
    """Whether a text names the directory or something in it, and not one whose name only begins alike."""
    return text.endswith(mark) or f"{mark}/" in text


def describe(process: psutil.Process) -> str:
    """The process for people."""
    return f"{process.pid} {' '.join(arguments(process))[:120] or '(gone)'}"
