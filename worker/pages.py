"""The browser of one attempt as its workflow uses it: a profile's own, or a fresh context of the child's warm one."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit

from playwright.async_api import BrowserContext, Page, Route
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from koala.errors import KoalaError
from koala.fence import Fence
from koala.signals import End
from worker import processes, profiles
from worker.browser import (
    BrowserFailed,
    BrowserOptions,
    ProfileBrowser,
    open_profile,
)
from worker.browser.tabs import answers, open_tab
from worker.engine import Engine
from worker.locks import LockHeld
from worker.processes import Process
from worker.sending import SAFE, Sending, languages

Death = Literal["", "tab", "browser", "driver"]


class BrowserTooLate(KoalaError):
    """The first page was asked for inside an act, when the ledger could no longer name its locks."""

    code = "browser_too_late"


class BrowserNotStarted(KoalaError):
    """The browser or its driver did not start: nothing of the workflow's has happened in it."""

    code = "browser_not_started"


class Teller(Protocol):
    """What the parent is told of an attempt's browser."""

    async def opened(self, found: dict[str, Any]) -> None:
        """The profile was opened; what was found and mended."""
        ...

    async def blocked(self, what: dict[str, Any]) -> None:
        """The guard blocked a request."""
        ...


class Pages:
    """Implements what `koala.ports.Browser` promises, for one attempt."""

    def __init__(
        self,
        engine: Engine,
        profile: str,
        fence: Fence,
        options: BrowserOptions,
        tell: Teller,
        *,
        roll_back: bool = False,
    ) -> None:
        self._tell = tell
        self._roll_back = roll_back
        self._engine = engine
        self._name = profile
        self._fence = fence
        self._options = options
        self._page: Page | None = None
        self._sending: Sending | None = None
        self._context: BrowserContext | None = None
        self._tab_died = False
        self._acting = False
        self._guarded: set[str] = set()
        self._opening = asyncio.Lock()
        self._deaths: asyncio.Future[None] | None = None
        self.browser: ProfileBrowser | None = None
        self.on_open: Callable[[str], None] = lambda result: None  # ok, failed, or held by an old holder
        self.died = asyncio.Event()
        """Set when tab, browser or driver died under the attempt."""

    async def page(self) -> Page:
        """The attempt's page. Raises End (parked) while an old holder has the profile, or BrowserTooLate."""
        async with self._opening:
            if self._page is None or self._page.is_closed():
                self._page = await self._new_page()
        return self._page

    async def _new_page(self) -> Page:
        context = await self._open()
        fresh = not (self.browser and context.pages) or self._tab_died
        page = await open_tab(context) if fresh else context.pages[0]
        page.on("crash", lambda _: self._crashed())
        return page

    async def _open(self) -> BrowserContext:
        if self._context:
            return self._context
        if self._acting:
            raise BrowserTooLate("call run.page() before run.effect(), so that the ledger can name the browser")
        try:
            self._context = await (self._open_profile() if self._name else self._open_context())
        except BrowserFailed as error:
            self.on_open("failed")
            raise BrowserNotStarted(str(error)) from error
        self.on_open("ok")
        self._deaths = asyncio.ensure_future(self._notice_death())
        if self._guarded:
            await self._context.route("**/*", self._check)
        return self._context

    async def _notice_death(self) -> None:
        """Playwright tells nobody when its driver dies, and late when a browser does."""
        driver, shell = self._engine.driver, self._engine.shell
        process = self.browser.process if self.browser else shell and shell.process
        watched = [watched_process for watched_process in (driver and driver.process, process) if watched_process]
        ends = [asyncio.ensure_future(processes.ended(one)) for one in watched]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for end in ends:
                end.cancel()
        self.died.set()

    async def _open_context(self) -> BrowserContext:
        shell = await self._engine.warm(self._fence)
        context = await shell.context(self._fence)
        if shell.lock:
            self._engine.tell_lock(shell.lock.name)
        return context

    async def _open_profile(self) -> BrowserContext:
        directory = profiles.create(self._engine.volume, self._name)
        driver = await self._engine.ready(self._fence)
        binary = self._engine.browsers().for_profile()
        try:
            self.browser = await open_profile(
                driver, directory, self._fence, binary, self._options, roll_back=self._roll_back
            )
        except LockHeld as error:
            self.on_open("held")
            raise End("parked", f"old holder alive: {error}", wait="old holder") from None
        found = self.browser.preparation
        await self._tell.opened({name: value for name, value in vars(found).items() if value})
        return self.browser.context

    def _crashed(self) -> None:
        self._tab_died = True
        self.died.set()

    def failed(self) -> Death:
        """What died under this attempt."""
        if self._engine.driver and not self._engine.driver.is_alive:
            return "driver"
        if self._context is None:
            return ""
        shell = self._engine.shell
        alive = self.browser.is_alive if self.browser else bool(shell and shell.is_alive)
        if not alive:
            return "browser"
        return "tab" if self._tab_died else ""

    async def look_after(self, error: BaseException) -> None:
        """After a call of Playwright's failed: whether the tab died and nobody was told, so that `failed` knows it.

        Chromium tells nobody of a renderer that is killed just while its page moves to another process: the call
        under way fails as if the page had thought better of it, and no other is ever answered.
        """
        plain = isinstance(error, PlaywrightError) and not isinstance(error, PlaywrightTimeout)
        if plain and self._page and not self.failed() and not await answers(self._page):
            self._crashed()

    async def new_tab(self) -> None:
        """After a dead tab: the next `page()` opens a new one."""
        dead, self._page, self._tab_died = self._page, None, False
        self.died.clear()
        if dead and self._context:
            self._page = await open_tab(self._context)
            self._page.on("crash", lambda _: self._crashed())
            try:
                async with asyncio.timeout(2):
                    await dead.close()
            except Exception:  # noqa: BLE001, S110 - a crashed tab may not even close; the context's end takes it along
                pass

    async def barrier(self, *, always: bool = False) -> None:
        """Make logins durable."""
        if self.browser:
            await (self.browser.barrier() if always else self.browser.settle())

    def locks(self) -> dict[str, Any]:
        """The locks D and B by name; empty for what this attempt has not used."""
        driver, shell = self._engine.driver, self._engine.shell
        lock = self.browser.lock if self.browser else shell and self._context and shell.lock
        return {"d": driver.lock.name if driver else "", "b": lock.name if lock else ""}

    def own_lock(self) -> str:
        """The name of the lock that this attempt's browser holds; empty without one."""
        return str(self.locks()["b"])

    async def guard(self, hosts: tuple[str, ...]) -> None:
        """Block unsafe methods to these hosts (and those below them) outside an effect."""
        first = not self._guarded
        self._guarded.update(hosts)
        if first and self._context:
            await self._context.route("**/*", self._check)

    async def _check(self, route: Route) -> None:
        host = urlsplit(route.request.url).hostname or ""
        guarded = any(host == name or host.endswith(f".{name}") for name in self._guarded)
        if not guarded or self._acting or route.request.method in SAFE:
            await route.fallback()
            return
        said = f"Koala blocked {route.request.method} to {host}: it is guarded, and this is outside run.effect"
        await self._tell.blocked({"method": route.request.method, "host": host})
        await route.fulfill(status=403, content_type="text/plain; charset=utf-8", body=said)

    async def shield(self, on: bool) -> None:
        """During an act, have the driver send the unsafe requests of pages and service workers, once each."""
        if self._context is None:
            return
        if on:
            self._sending = Sending(await languages(self._page))
            await self._context.route("**/*", self._sending)
        elif self._sending and not self.failed():
            await self._context.unroute("**/*", self._sending)

    def acting(self, on: bool) -> None:
        """An effect's act begins or is over."""
        self._acting = on

    async def screenshot(self, path: Path) -> None:
        """Save a picture of the page. Raises BrowserFailed."""
        page = await self.page()
        async with asyncio.timeout(15):
            await page.screenshot(path=path)

    def processes(self) -> list[Process]:
        """The profile's browser, for the watchdog."""
        return [self.browser.process] if self.browser else []

    async def close(self, budget_s: float) -> str:
        """End the attempt's browser or context: clean, killed, or empty when none was opened."""
        if self._deaths:
            self._deaths.cancel()
        if self.browser:
            return await self.browser.close(budget_s)
        if self._context and self._engine.shell:
            return "clean" if await self._engine.shell.give_back(self._context, budget_s) else "killed"
        return ""


__all__ = ["BrowserFailed", "BrowserNotStarted", "BrowserTooLate", "Pages", "Teller"]
