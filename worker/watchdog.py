"""The child's watchdog: a thread that ends browser, driver and child when the lease can no longer be trusted.

It is for speed, not for safety: the gate, the locks and the settle time carry promise 3. It runs outside the event
loop, so that a workflow which blocks the loop cannot stop it.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable

from koala.clock import boottime
from worker import processes
from worker.processes import Process

TICK_S = 0.1


class Watchdog:
    """Watches one child, its own process. `trusted_until` is 0 while it has no attempt."""

    def __init__(self, parent: int, below: Callable[[], list[Process]]) -> None:
        self.trusted_until = 0.0
        self._parent = parent
        self._below = below
        self._stop = threading.Event()

    def start(self) -> None:
        """Begin to watch, in a thread that does not keep the process alive."""
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def due(self) -> str:
        """Why everything has to end now; empty when nothing has to."""
        if os.getppid() != self._parent:
            return "the parent is gone"
        if self.trusted_until and boottime() >= self.trusted_until:
            return "the lease can no longer be trusted"
        return ""

    def _run(self) -> None:
        while not self._stop.wait(TICK_S):
            if self.due():
                self.end()

    def end(self) -> None:
        """SIGKILL browser, then driver, then whatever else is below us, then ourselves."""
        try:
            for process in self._below():
                processes.end(process)
            processes.end_below(processes.this(), 2.0)
        finally:
            os.kill(os.getpid(), signal.SIGKILL)
