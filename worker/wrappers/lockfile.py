"""Lock files at the level of the kernel: standard library only, shared by the wrappers and `worker.locks`.

A lock file is one fixed block of JSON: the mark of its volume, the highest fence that ever took it, its
holder (the last one, when it is free) and the last browser that held it. The lock is the kernel's `flock`;
the text only says who. The file is never replaced, or two processes could each lock "the" file.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import time
from typing import Any

from worker.wrappers import proc

SIZE = 2048
"""Bytes of a lock file: one write below a page, so that a killed writer leaves the old text or the new."""

Content = dict[str, Any]


class Damaged(Exception):
    """The lock file does not hold the text of a lock file."""


class Leftover(Exception):
    """Processes of the browser that held the lock before are still alive and could not be ended."""


def open_existing(path: str) -> int | None:
    """A descriptor of the file, closed on exec; None when there is no such file. Never creates."""
    try:
        return os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None


def lock(descriptor: int) -> bool:
    """Take the lock now or not at all."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def lock_patiently(descriptor: int, seconds: float = 0.25) -> bool:
    """Take the lock, waiting a little: whoever proves a holder gone takes it for a moment, and is no holder."""
    deadline = time.monotonic() + seconds
    while not lock(descriptor):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def is_at(descriptor: int, path: str) -> bool:
    """Whether the file at `path` is still the one we opened: only then is its lock worth anything."""
    try:
        there = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return False
    ours = os.fstat(descriptor)
    return (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino)


def read(descriptor: int) -> Content:
    """The file's text; raises Damaged. A write going on at this instant is waited out."""
    for _ in range(5):
        try:
            return _parse(os.pread(descriptor, SIZE, 0))
        except Damaged:
            time.sleep(0.002)  # somebody may be writing: a reader without the lock can only look again
    return _parse(os.pread(descriptor, SIZE, 0))


def _parse(block: bytes) -> Content:
    try:
        content = json.loads(block)
    except ValueError as error:
        raise Damaged(str(error)) from None
    if not isinstance(content, dict) or "volume" not in content or "fence" not in content:
        raise Damaged("not a lock file")
    return content


def render(content: Content) -> bytes:
    """The block to write: padded, so that a shorter text leaves nothing of a longer one behind."""
    text = json.dumps(content, separators=(",", ":"), sort_keys=True).encode()
    if len(text) > SIZE - 1:
        raise ValueError(f"a lock file's text has {len(text)} bytes, {SIZE - 1} fit")
    return text.ljust(SIZE - 1) + b"\n"


def write(descriptor: int, content: Content) -> None:
    """Replace the text in place; only for whoever holds the lock. Durable on return."""
    os.pwrite(descriptor, render(content), 0)
    os.fsync(descriptor)


def order(fence: str) -> tuple[int, int]:
    """A fence as it is compared: (epoch, counter)."""
    epoch, _, counter = fence.partition(".")
    return int(epoch), int(counter)


def this_process(role: str, fence: str, machine: str) -> dict[str, Any]:
    """Who we are, for the lock file. The same after exec: pid, start time and session stay."""
    own = proc.stat(os.getpid())
    if own is None:
        raise RuntimeError("/proc is not mounted: a lock file could not say who holds it")
    return {
        "role": role,
        "fence": fence,
        "pid": own.pid,
        "started": own.started,
        "session": own.session,
        "pid_namespace": proc.pid_namespace(),
        "machine": machine,
        "boot": proc.boot_id(),
    }


def leftovers(browser: dict[str, Any] | None) -> list[proc.Stat]:
    """Living processes of a browser whose main process is gone, as far as this pid namespace can see them."""
    if browser is None or not _visible_from_here(browser):
        return []
    found = [p for p in proc.every() if p.session == browser["session"] and not p.ended]
    if any(p.pid == browser["session"] and p.started != browser["started"] for p in found):
        return []  # the number was given out again: the kernel does that only when the old session is empty
    return [p for p in found if p.started >= browser["started"] and _same_program(p.pid, browser)]


def _visible_from_here(browser: dict[str, Any]) -> bool:
    return bool(browser["boot"] == proc.boot_id() and browser["pid_namespace"] == proc.pid_namespace())


def _same_program(pid: int, browser: dict[str, Any]) -> bool:
    try:
        program = os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return True  # on its way out, or not ours to look at: rather refuse the lock than give it too early
    return os.path.dirname(program) == os.path.dirname(str(browser["binary"]))


def end_leftovers(browser: dict[str, Any] | None, seconds: float = 3.0) -> list[int]:
    """Kill what is left of the lock's last browser; only for whoever holds the lock. Raises Leftover.

    The main process was the lock, so it is gone; what remains can only be its children. A frozen one stays
    for ever.
    """
    deadline = time.monotonic() + seconds
    ended: set[int] = set()
    while remaining := leftovers(browser):
        if time.monotonic() > deadline:
            raise Leftover(", ".join(str(p.pid) for p in remaining))
        ended.update(p.pid for p in remaining if _kill(p))
        time.sleep(0.01)
    return sorted(ended)


def _kill(process: proc.Stat) -> bool:
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return False
    try:
        now = proc.stat(process.pid)
        if now is None or now.started != process.started:
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        os.close(descriptor)
    return True
