"""A slot's process as its supervisor sees it: started, heard, waited for, killed when it hangs."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable

from worker import processes
from worker.report import OnMetric, Reading


class SlotProcess:
    """One life of a slot. Made in the main thread: the parent-death signal follows the thread that spawns.

    `on_beat` and `on_metric` are called in the event loop, with what the slot reports. Raises OSError when no process
    can be started.
    """

    def __init__(self, worker: str, number: int, on_beat: Callable[[], None], on_metric: OnMetric) -> None:
        self.number = number
        self._reading = Reading(number, on_beat, on_metric)
        arguments = ["slot", "--worker", worker, "--number", str(number), "--parent", str(os.getpid())]
        try:
            self._popen = subprocess.Popen(
                [sys.executable, "-m", "worker", *arguments, "--report", str(self._reading.writing)],
                stdin=subprocess.DEVNULL,
                pass_fds=[self._reading.writing],
            )
        except OSError:
            self._reading.started()
            self._reading.close()
            raise
        self._reading.started()

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def last_words(self) -> str:
        """Why it says that it ended; empty when it was killed."""
        return self._reading.last_words

    async def wait(self) -> int:
        """Until its end, listening to it meanwhile; the exit code, negative for a signal."""
        loop, ended, process = asyncio.get_running_loop(), asyncio.Event(), os.pidfd_open(self.pid)
        loop.add_reader(process, ended.set)
        loop.add_reader(self._reading.descriptor, self._listen)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(process)
            os.close(process)
            loop.remove_reader(self._reading.descriptor)
            self._reading.close()
        return self._popen.wait()

    def drain(self) -> None:
        """Ask it to take nothing new and to end."""
        self._popen.terminate()

    async def kill(self) -> None:
        """SIGKILL it and all that it started."""
        found = processes.find(self.pid)
        if found:
            await asyncio.to_thread(processes.end_tree, [found])

    def _listen(self) -> None:
        if not self._reading.take():
            asyncio.get_running_loop().remove_reader(self._reading.descriptor)
