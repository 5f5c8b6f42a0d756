"""A worker or a scheduler as a real process, to be killed, frozen and thawed with all that it started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from tests.support.waiting import until
from worker import processes
from worker.processes import Process

ROOT = Path(__file__).resolve().parents[2]
END_S = 60.0


class Program:
    """`python -m MODULE`, its output in a file. It dies with us, however we end."""

    def __init__(self, module: str, log: Path, environment: Mapping[str, str]) -> None:
        self.log = log
        # The parent-death signal survives the exec, so that a killed test leaves nothing behind.
        command = ["setpriv", "--pdeathsig", "KILL", sys.executable, "-m", module]
        with log.open("ab") as out:
            self._popen = subprocess.Popen(
                command, cwd=ROOT, env=dict(environment), stdin=subprocess.DEVNULL, stdout=out, stderr=out
            )
        self._ever: dict[Process, None] = {}

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        return self._popen.poll()

    @property
    def text(self) -> str:
        """What it has written so far."""
        return self.log.read_text(errors="replace")

    def tree(self) -> list[Process]:
        """It and its living descendants, parents first."""
        root = processes.find(self.pid)
        found = processes.tree(root) if root else []
        self._ever.update(dict.fromkeys(found))
        return found

    def terminate(self) -> None:
        """SIGTERM: a drain."""
        self._popen.terminate()

    def wait(self, seconds: float = END_S) -> int:
        """The exit code. subprocess.TimeoutExpired when it has not ended by then."""
        return self._popen.wait(seconds)

    def kill(self) -> None:
        """SIGKILL to it alone, and wait for its end."""
        self._popen.kill()
        self._popen.wait()

    def freeze(self) -> list[Process]:
        """Stop it and all below it; returns whom, for `thaw`."""
        return freeze(process.pid for process in self.tree())

    def end(self) -> None:
        """SIGKILL to it and all that it ever had below it; reaped."""
        everyone = [*self.tree(), *self._ever]
        self._popen.kill()
        processes.end_tree(everyone)
        self._popen.wait()


def freeze(pids: Iterable[int]) -> list[Process]:
    """SIGSTOP, parents first, until each has stopped."""
    stopped = []
    for pid in pids:
        found = processes.find(pid)
        if found is None:
            continue
        os.kill(pid, signal.SIGSTOP)
        _until_stopped(pid)
        stopped.append(found)
    return stopped


def _until_stopped(pid: int) -> None:
    def stopped() -> bool:
        try:
            return psutil.Process(pid).status() in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return True

    until(stopped, f"process {pid} stopped")


def thaw(frozen: Iterable[Process]) -> None:
    """SIGCONT to those that are still there."""
    for process in frozen:
        processes.end(process, signal.SIGCONT)


def kill(pid: int) -> None:
    """SIGKILL to one process that is there."""
    os.kill(pid, signal.SIGKILL)
