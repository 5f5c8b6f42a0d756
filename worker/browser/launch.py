"""Starting a browser through its wrapper, and saying what went wrong in our own words."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from playwright.async_api import Error as PlaywrightError

from koala.errors import KoalaError
from koala.fence import Fence
from worker import locks, processes
from worker.browser.driver import Driver
from worker.browser.errors import BrowserFailed, within
from worker.browser.options import BrowserOptions
from worker.browser.wrap import BROWSER, Wrap, browser_environment
from worker.processes import Process

Opened = TypeVar("Opened")
ROLE = "browser"
LOOK_SECONDS = 0.05
LAST_WORD_SECONDS = 1.0


@asynccontextmanager
async def asked(seconds: float, what: str) -> AsyncIterator[None]:
    """Ask Playwright with a time limit: raises BrowserHung or, when browser or driver is gone,
    BrowserFailed.
    """
    try:
        async with within(seconds, what):
            yield
    except PlaywrightError as error:
        raise BrowserFailed(f"{what}: {first_line(error)}") from error


def first_line(error: PlaywrightError) -> str:
    """What Playwright says, without the browser's whole log below it."""
    return error.message.split("\n", 1)[0]


def complaint(error: PlaywrightError) -> str:
    """The same with the browser's own last words, which say why it would not start."""
    said = [line.partition("[err] ")[2] for line in error.message.splitlines() if "[err] " in line]
    return " | ".join([first_line(error), *[line for line in said if "dbus" not in line][-3:]])


class Run:
    """One start of a browser under a lock."""

    def __init__(self, driver: Driver, binary: Path, lock: Path, fence: Fence, options: BrowserOptions) -> None:
        self._driver = driver
        self._lock = lock
        self._options = options
        self._wrap = Wrap.of(driver.volume, binary, driver.process.pid, lock, fence, options.tmp)

    async def start(self, launch: Callable[[dict[str, Any]], Awaitable[Opened]]) -> Opened:
        """Launch within the options' time.

        Raises the lock's errors, BrowserFailed, BrowserHung; then nothing runs.
        """
        environment = browser_environment(self._wrap, self._options.tmp)
        arguments = {**self._options.launch(), "executable_path": BROWSER, "env": environment}
        try:
            # Playwright gives up first and cleans up after itself; ours is for a driver that does not answer.
            async with within(self._options.launch_seconds + 5, "the browser's start"):
                return await self._unless_it_dies(launch(arguments))
        except BaseException as error:
            await asyncio.to_thread(self._end)
            if refusal := self._wrap.refused():
                raise refusal from None
            if isinstance(error, PlaywrightError):
                raise BrowserFailed(f"the browser did not start: {complaint(error)}") from error
            raise

    async def _unless_it_dies(self, launching: Awaitable[Opened]) -> Opened:
        """Playwright does not always notice when a browser dies in the middle of its start."""
        work, death = asyncio.ensure_future(launching), asyncio.ensure_future(self._death())
        try:
            await asyncio.wait({work, death}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({work}, timeout=LAST_WORD_SECONDS)  # when it does, it knows why
            if not work.done():
                raise BrowserFailed("the browser died while it started")
            return work.result()
        finally:
            work.cancel()
            death.cancel()

    async def _death(self) -> None:
        """Return when the browser of this run has lived, and died."""
        while not (browser := self._living()):  # noqa: ASYNC110 - its word is in a file
            await asyncio.sleep(LOOK_SECONDS)
        await processes.ended(browser)

    def _living(self) -> Process | None:
        with suppress(KoalaError):  # what is wrong with the lock, the wrapper says
            browser = self._named()
            return browser if browser and processes.is_alive(browser) else None
        return None

    def process(self) -> Process:
        """The browser's main process, as it named itself in the lock file."""
        named = self._named()
        if named is None:
            raise BrowserFailed(f"{self._lock.name} does not name the browser: its wrapper was passed by")
        return named

    def _named(self) -> Process | None:
        """Whom the lock file names, where that is a browser of our fence."""
        holder = locks.read(self._driver.volume, self._lock)
        ours = holder is not None and holder.role == ROLE and holder.fence == self._wrap.fence
        return Process(holder.pid, holder.started) if holder and ours else None

    def _end(self) -> None:
        """Kill what this run started: a browser of ours below our driver, never another holder's."""
        ours = self._named()
        if ours and ours in processes.tree(self._driver.process):
            processes.end_tree([ours], sessions=[ours.pid])
