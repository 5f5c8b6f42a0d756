"""Run a command, then end every process it left behind, also one in a session of its own.

    python keeper.py COMMAND [ARGUMENT ...]

Exits as the command did. What was left is named on stdout: a command that cleans up after itself
leaves nothing.
A TERM ends the command and all its descendants.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = float(os.environ.get("KEEPER_PATIENCE_S", "10"))
"""Between asking the processes left to end and killing them."""


def main(command: list[str]) -> int:
    # Orphans below us become our children instead of init's, so none is out of sight.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGTERM, interrupt)
    signal.signal(signal.SIGINT, interrupt)
    try:
        result = wait_for(start(command))
        return result if result >= 0 else 128 - result
    except KeyboardInterrupt:
        return 128 + signal.SIGTERM
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        clear()


def start(command: list[str]) -> int:
    """The pid of the command, which finds the signals as the shell sets them."""
    return os.posix_spawnp(command[0], command, os.environ, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ])


def wait_for(command: int) -> int:
    """Its exit code, negative for a signal. Orphans that end before it are reaped: somebody may wait for their pids."""
    while True:
        pid, status = os.wait()
        if pid == command:
            return os.waitstatus_to_exitcode(status)


def interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def clear() -> None:
    """Return when no descendant is alive: asked first, killed after `PATIENCE_S`."""
    deadline = time.monotonic() + PATIENCE_S
    told: set[int] = set()
    while left := descendants():
        for pid in left - told:
            tell(f"keeper: left behind: {pid} {describe(pid)}")
            send(pid, signal.SIGTERM)
        told |= left
        if time.monotonic() > deadline:
            for pid in left:
                send(pid, signal.SIGKILL)
        time.sleep(0.05)
        reap()


def descendants() -> set[int]:
    """Pids below this process that are not yet zombies."""
    parents = {int(entry.name): parent_of(entry) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found, frontier = set[int](), {os.getpid()}
    while frontier:
        frontier = {pid for pid, parent in parents.items() if parent in frontier}
        found |= frontier
    return found


def parent_of(process: Path) -> int:
    """The parent's pid; 0 for a process that is gone or a zombie."""
    try:
        state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return 0
    return 0 if state == "Z" else int(parent)


def describe(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")[:200]
    except OSError:
        return "(gone)"


def tell(line: str) -> None:
    with contextlib.suppress(OSError):  # a reader that is gone must not stop the cleaning
        os.write(1, f"{line}\n".encode())


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
