"""Playwright's driver: a node process that holds lock D for its life and dies with us."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import playwright
from playwright.async_api import Playwright, async_playwright

from koala.fence import Fence
from worker import locks, processes
from worker.browser.errors import BrowserFailed, within
from worker.browser.wrap import DRIVER, Wrap
from worker.processes import Process
from worker.volume import Volume

NODEJS_PATH = "PLAYWRIGHT_NODEJS_PATH"


class Driver:
    """A running driver.

    Start it in the main thread: the parent-death signal follows the thread that spawns.
    """

    def __init__(self, volume: Volume, lock: Path, playwright: Playwright, process: Process) -> None:
        self.volume = volume
        self.lock = lock
        """D: the lock file of this driver's life; a `sent` names it."""
        self.playwright = playwright
        self.process = process

    @classmethod
    async def start(cls, volume: Volume, fence: Fence, *, tmp: Path, seconds: float = 30) -> Driver:
        """Start a driver under a new lock D; `tmp` takes refusals.

        Raises BrowserFailed, BrowserHung, or the lock's errors; then nothing runs.
        """
        lock = locks.create(volume, locks.driver_path(volume))
        wrap = Wrap.of(volume, node(), os.getpid(), lock, fence, tmp)
        manager = async_playwright()
        try:
            # TMPDIR: Playwright keeps throw-away profiles there, and leaves them behind when it is killed.
            with _environment({NODEJS_PATH: str(DRIVER), "TMPDIR": str(tmp), **wrap.variables()}):
                async with within(seconds, "Playwright's driver"):
                    started = await manager.start()
        except Exception as error:
            _end(volume, lock, settled=True)
            raise wrap.refused() or BrowserFailed(f"Playwright's driver did not start: {error}") from error
        return cls(volume, lock, started, _process(volume, lock))

    @property
    def is_alive(self) -> bool:
        return processes.is_alive(self.process)

    async def gone(self) -> None:
        """Return when the driver has ended. Playwright itself tells nobody: only calls in flight fail."""
        await processes.ended(self.process)

    async def stop(self, seconds: float = 5, *, settled: bool = False) -> None:
        """End the driver and what it started, kindly within the time, else by SIGKILL. Never raises.

        `settled`: no open `sent` names its lock, so that nobody will ask for proof: then the lock file goes
        too.
        """
        with suppress(Exception):  # whatever it says, it is killed next
            async with within(seconds, "Playwright's driver"):
                await self.playwright.stop()
        _end(self.volume, self.lock, settled=settled)


def node() -> Path:
    """The node program that Playwright brings along. Raises BrowserFailed."""
    found = Path(playwright.__file__).parent / "driver" / "node"
    if not found.is_file():
        raise BrowserFailed(f"Playwright's node program is missing ({found}): reinstall playwright")
    return found


def _process(volume: Volume, lock: Path) -> Process:
    holder = locks.read(volume, lock)
    if holder is None:
        raise BrowserFailed(f"the driver started around its wrapper: {sys.executable} ignored {NODEJS_PATH}")
    return Process(holder.pid, holder.started)


def _end(volume: Volume, lock: Path, *, settled: bool) -> None:
    holder = locks.read(volume, lock)
    if holder is not None:
        processes.end_tree([Process(holder.pid, holder.started)])
    if settled:
        locks.remove_free(volume, lock)


@contextmanager
def _environment(variables: dict[str, str]) -> Iterator[None]:
    """Ours for the moment in which Playwright reads it: it has no other way to be told."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
