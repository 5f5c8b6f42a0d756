"""Processes by (pid, start time): trees are ended until nothing of them is left, and the dead are reaped.

A pid alone names nobody for long. Everything here is Linux, and sees only its own pid namespace.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import NamedTuple

from worker.wrappers import proc
from worker.wrappers.proc import boot_id, pid_namespace, set_parent_death_signal

__all__ = [
    "Process",
    "boot_id",
    "children",
    "end",
    "end_below",
    "end_tree",
    "ended",
    "find",
    "is_alive",
    "memory_megabytes",
    "pid_namespace",
    "reap",
    "reap_orphans",
    "session_members",
    "set_child_subreaper",
    "set_parent_death_signal",
    "this",
    "tree",
    "zombies",
]

PR_SET_CHILD_SUBREAPER = 36


class Process(NamedTuple):
    """One process of this boot, and no later one with its pid. `started` is in clock ticks since boot."""

    pid: int
    started: int


def find(pid: int) -> Process | None:
    """The living process of that pid; None when there is none or it is a zombie."""
    found = proc.stat(pid)
    return None if found is None or found.ended else Process(found.pid, found.started)


def this() -> Process:
    """Ourselves."""
    own = find(os.getpid())
    if own is None:
        raise RuntimeError("/proc is not mounted")
    return own


def is_alive(process: Process) -> bool:
    """Whether it still runs (or is frozen); a zombie does not."""
    return find(process.pid) == process


async def ended(process: Process) -> None:
    """Return when the process is gone; at once when it is already. It need not be a child of ours."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        if is_alive(process):
            await readable.wait()
    finally:
        loop.remove_reader(descriptor)
        os.close(descriptor)


def set_child_subreaper() -> None:
    """Have orphans below us reparented to us instead of to init, so that they stay in sight. For our life."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_CHILD_SUBREAPER)")


def children(pid: int) -> list[Process]:
    """Living direct children; empty when there are none or the process is gone."""
    return [Process(p.pid, p.started) for p in proc.every() if p.parent == pid and not p.ended]


def tree(root: Process) -> list[Process]:
    """The process and its living descendants, parents first; empty when it is gone. Not one instant."""
    if not is_alive(root):
        return []
    return [root, *_below(root.pid, _by_parent(proc.every()))]


def _by_parent(every: Iterable[proc.Stat]) -> dict[int, list[proc.Stat]]:
    found: dict[int, list[proc.Stat]] = {}
    for process in every:
        found.setdefault(process.parent, []).append(process)
    return found


def _below(pid: int, by_parent: dict[int, list[proc.Stat]]) -> list[Process]:
    # Through zombies too: a dead parent that nobody reaped may still have living children listed under it.
    below: list[Process] = []
    for child in by_parent.get(pid, []):
        if not child.ended:
            below.append(Process(child.pid, child.started))
        below += _below(child.pid, by_parent)
    return below


def zombies(pid: int) -> int:
    """How many dead processes below this one nobody has reaped yet."""
    every = proc.every()
    known = {pid, *(process.pid for process in _below(pid, _by_parent(every)))}
    return sum(process.ended and process.parent in known for process in every)


def session_members(session: int, started_after: int = 0) -> list[Process]:
    """Living processes of a session, not older than `started_after` ticks.

    Playwright gives each browser its own.
    """
    return [
        Process(p.pid, p.started)
        for p in proc.every()
        if p.session == session and not p.ended and p.started >= started_after
    ]


def end(process: Process, signal_number: int = signal.SIGKILL) -> bool:
    """Signal exactly this process, never a later one with its pid; False when it is gone already."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        if not is_alive(process):
            return False
        signal.pidfd_send_signal(descriptor, signal_number)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return True


def end_tree(roots: Iterable[Process], seconds: float = 5.0, *, sessions: Iterable[int] = ()) -> list[Process]:
    """SIGKILL the roots, all that descends from them and the members of `sessions`, until none is left.

    Blocks.

    Descendants are noted before their parent is killed, since one that is orphaned is out of sight
    afterwards. Reaps nothing: the dead wait for whoever made them (see `reap_orphans`). Returns what is
    still alive after `seconds`: empty when all are gone (only a process stuck in the kernel, or of another
    user, stays).
    """
    return _end_until_none(list(roots), tuple(sessions), seconds)


def end_below(root: Process, seconds: float = 5.0, *, spare: Collection[Process] = ()) -> list[Process]:
    """The same for all descendants of a process, not for itself. Blocks.

    For a subreaper on itself: whatever its children leave behind is reparented to it, so nothing slips away. Those in
    `spare` are left alone with all below them.
    """
    deadline = time.monotonic() + seconds
    while below := _without(tree(root)[1:], spare):
        if time.monotonic() > deadline:
            return below
        _end_until_none(below, (), deadline - time.monotonic())
    return []


def _without(found: list[Process], spare: Collection[Process]) -> list[Process]:
    spared = {process for one in spare for process in tree(one)}
    return [process for process in found if process not in spared]


def _end_until_none(wanted: list[Process], sessions: tuple[int, ...], seconds: float) -> list[Process]:
    deadline = time.monotonic() + seconds
    while True:
        wanted = _grown(wanted, sessions)
        alive = [process for process in wanted if is_alive(process)]
        if not alive or time.monotonic() > deadline:
            return alive
        for process in alive:
            end(process)
        time.sleep(0.005)


def _grown(wanted: list[Process], sessions: tuple[int, ...]) -> list[Process]:
    every = proc.every()
    by_parent = _by_parent(every)
    found = dict.fromkeys(wanted)
    for process in wanted:
        if is_alive(process):
            found.update(dict.fromkeys(_below(process.pid, by_parent)))
    members = (Process(p.pid, p.started) for p in every if p.session in sessions and not p.ended)
    found.update(dict.fromkeys(members))
    return list(found)


def reap(pids: Iterable[int]) -> dict[int, int]:
    """Collect those of our own children that ended: pid to exit code (negative: the signal). Never blocks.

    Only for pids that no Popen object or event loop waits for: theirs would then see exit code 255 or none.
    """
    collected: dict[int, int] = {}
    for pid in pids:
        try:
            found, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            continue
        if found:
            collected[pid] = os.waitstatus_to_exitcode(status)
    return collected


def reap_orphans(known: Iterable[int] = ()) -> dict[int, int]:
    """Collect every ended child of ours except the `known`, whose owner waits for them. Never blocks.

    For a subreaper: what its children left behind has become its own.
    """
    kept = frozenset(known)
    mine = os.getpid()
    return reap(p.pid for p in proc.every() if p.parent == mine and p.ended and p.pid not in kept)


def memory_megabytes(group: Iterable[Process]) -> int:
    """What the processes hold together, shared pages counted once in all (PSS). Gone ones count nothing."""
    return sum(_pss_kilobytes(process.pid) for process in group) // 1024


def _pss_kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
