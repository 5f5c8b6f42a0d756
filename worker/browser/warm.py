"""The slot's warm browser for work without a profile: one browser, a fresh context for each attempt."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Browser, BrowserContext, CDPSession

from koala.fence import Fence
from worker import locks, processes
from worker.browser import launch
from worker.browser.driver import Driver
from worker.browser.errors import BrowserFailed, within
from worker.browser.options import BrowserOptions
from worker.processes import Process

CALL_SECONDS = 10.0


@dataclass(frozen=True)
class Recycling:
    """When a warm browser is replaced by a new one, between two attempts."""

    jobs: int = 50
    seconds: float = 3600
    megabytes: int = 1500


@dataclass(frozen=True)
class _Life:
    """One browser's life, with its own lock B."""

    browser: Browser
    control: CDPSession
    """What it was told by this holds for as long as this lasts."""
    lock: Path
    process: Process
    began: float


class WarmShell:
    """Never shared between slots. Starts its browser when a context is first asked for."""

    def __init__(
        self, driver: Driver, binary: Path, options: BrowserOptions, recycling: Recycling | None = None
    ) -> None:
        self._driver = driver
        self._binary = binary
        self._options = options
        self._recycling = recycling or Recycling()
        self._life: _Life | None = None
        self._jobs = 0

    @property
    def lock(self) -> Path | None:
        """B of the present browser's life: a `sent` names it. None while there is no browser."""
        return None if self._life is None else self._life.lock

    @property
    def process(self) -> Process | None:
        return None if self._life is None else self._life.process

    @property
    def is_alive(self) -> bool:
        return self._life is not None and self._life.browser.is_connected() and processes.is_alive(self._life.process)

    async def context(self, fence: Fence) -> BrowserContext:
        """A fresh context; in a new browser when there is none, it died or is due.

        `fence` names the browser's life, when one starts here. Raises BrowserFailed, BrowserHung, the
        lock's errors.
        """
        if self._life is not None and (not self.is_alive or self.due() is not None):
            await self.close()  # not as settled: the browser may have died with an effect in its hands
        try:
            return await self._fresh(fence)
        except BrowserFailed:
            await self.kill()  # it may have died this very moment; a second failure is another matter
        return await self._fresh(fence)

    async def _fresh(self, fence: Fence) -> BrowserContext:
        life = self._life or await self._start(fence)
        async with launch.asked(CALL_SECONDS, "a new context"):
            made = await life.browser.new_context(**self._options.context())
            await _deny_background_sync(life.control)
        self._jobs += 1
        return made

    async def give_back(self, context: BrowserContext, seconds: float = 5) -> bool:
        """Close an attempt's context; False when it took too long and the whole browser was killed."""
        try:
            async with launch.asked(seconds, "closing the context"):
                await context.close()
        except BrowserFailed:
            await self.kill()
            return False
        return True

    def due(self) -> str | None:
        """Why the browser is to be replaced before the next attempt (`jobs`, `age`, `memory`); None when it
        is not.
        """
        if self._life is None:
            return None
        if self._jobs >= self._recycling.jobs:
            return "jobs"
        if time.monotonic() - self._life.began >= self._recycling.seconds:
            return "age"
        if processes.memory_megabytes(processes.tree(self._life.process)) >= self._recycling.megabytes:
            return "memory"
        return None

    async def close(self, seconds: float = 5, *, settled: bool = False) -> None:
        """End the browser, kindly within the time, else by SIGKILL. Never raises; again is harmless.

        `settled`: no open `sent` names its lock, so that nobody will ask for proof: then the lock file goes
        too.
        """
        if self._life is not None and self.is_alive:
            with suppress(Exception):  # whatever it is, the tree is killed next
                async with within(seconds, "closing the warm browser"):
                    await self._life.browser.close()
        await self.kill(settled=settled)

    async def kill(self, *, settled: bool = False) -> None:
        """End the browser's processes at once."""
        life, self._life, self._jobs = self._life, None, 0
        if life is not None:
            await asyncio.to_thread(processes.end_tree, [life.process], sessions=[life.process.pid])
        if life is not None and settled:
            locks.remove_free(self._driver.volume, life.lock)

    async def _start(self, fence: Fence) -> _Life:
        lock = locks.create(self._driver.volume, locks.browser_path(self._driver.volume))
        run = launch.Run(self._driver, self._binary, lock, fence, self._options)
        browser, control = await run.start(self._launch)
        self._life = _Life(browser, control, lock, run.process(), time.monotonic())
        return self._life

    async def _launch(self, arguments: dict[str, Any]) -> tuple[Browser, CDPSession]:
        browser = await self._driver.playwright.chromium.launch(**arguments)
        return browser, await browser.new_browser_cdp_session()


async def _deny_background_sync(control: CDPSession) -> None:
    """Let no page queue requests for later, past the act they belong to. Profiles have a preference for it."""
    found = await control.send("Target.getBrowserContexts")
    for context in found["browserContextIds"]:
        denied = {"permission": {"name": "background-sync"}, "setting": "denied", "browserContextId": context}
        await control.send("Browser.setPermission", denied)
