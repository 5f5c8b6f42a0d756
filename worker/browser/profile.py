"""A browser on a profile: under the profile's lock, with its logins on disk whenever it says so."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from playwright.async_api import BrowserContext, Page

from koala.errors import KoalaError
from koala.fence import Fence
from worker import locks, processes
from worker.browser import cookies, launch
from worker.browser.binaries import major_version, refuse_shell
from worker.browser.driver import Driver
from worker.browser.errors import within
from worker.browser.options import BrowserOptions
from worker.browser.storage import ORIGIN_SECONDS, LocalStorage
from worker.processes import Process
from worker.profiles import Preparation, ProfileDirectory, preferences
from worker.profiles.pending import Storage

Ending = Literal["clean", "killed"]
CALL_SECONDS = 10.0
LAST_WORDS_SECONDS = 0.1
"""What a page has just put into its storage is still on its way between processes; nothing says when it arrived."""
HELPERS_LOOKS = 100
"""A second, by steps of 0.01 s: what is still there then is killed."""


class ProfileBrowser:
    """An open profile: made by `open_profile`, ended by `close`, which takes no longer than it is given."""

    def __init__(
        self,
        profile: ProfileDirectory,
        fence: Fence,
        context: BrowserContext,
        process: Process,
    ) -> None:
        self.profile = profile
        self.fence = fence
        self.context = context
        self.process = process
        """The browser's main process, which holds lock B."""
        self.preparation = Preparation()
        self._saved: list[cookies.Cookie] | None = None
        self._digest = ""
        self._storage = LocalStorage(context, profile.pending)
        self._crash: list[Callable[[Page], None]] = []
        # Playwright tells nobody when its driver dies; the browser always dies with it.
        self._gone = asyncio.ensure_future(processes.ended(process))
        context.on("page", self._watch)
        for page in context.pages:
            self._watch(page)

    @property
    def lock(self) -> Path:
        """B: a `sent` names it."""
        return self.profile.lock

    @property
    def is_alive(self) -> bool:
        """Whether the browser lives; frozen counts as alive."""
        return not self._gone.done() and processes.is_alive(self.process)

    async def gone(self) -> None:
        """Return when the browser is gone, whoever ended it or its driver."""
        await asyncio.shield(self._gone)

    def on_crash(self, callback: Callable[[Page], None]) -> None:
        """Call back for each page whose renderer died; the browser and its other pages go on."""
        self._crash.append(callback)

    async def new_page(self, seconds: float = CALL_SECONDS) -> Page:
        """A new tab. Raises BrowserHung, BrowserFailed."""
        async with launch.asked(seconds, "a new page"):
            return await self.context.new_page()

    async def settle(self, seconds: float = CALL_SECONDS) -> bool:
        """A barrier over what has changed since the last one; whether anything had. Nothing costs a few milliseconds.

        Raises BrowserHung, BrowserFailed.
        """
        async with launch.asked(seconds, "reading cookies"):
            if cookies.digest(await cookies.current(self.context)) == self._digest:
                return await self._storage.keep()
        await self.barrier(seconds)
        return True

    async def barrier(self, seconds: float = CALL_SECONDS) -> None:
        """Return when logins are on disk: they survive whatever is killed next. About 0.1 s.

        Session cookies and the local storage of the origins that tabs are at go to files beside the profile, other
        cookies into Chromium's own store. Raises BrowserHung, BrowserFailed.
        """
        async with launch.asked(seconds, "the barrier"):
            await self._storage.keep()
            now = await cookies.current(self.context)
            self._save(cookies.session_only(now))
            await cookies.commit(self.context, self.profile.user_data / "Default", seconds)
            self._digest = cookies.digest(now)

    async def close(self, seconds: float = 10) -> Ending:
        """Close within the time, or kill the process tree. Only a clean ending marks the profile clean.

        Returns with every process of the browser gone, but for one that the kernel cannot end. Never raises.
        """
        asked_to = self.is_alive and await self._close_kindly(seconds)
        await asyncio.to_thread(processes.end_tree, [self.process], sessions=[self.process.pid])
        clean = (
            asked_to
            and preferences.ended_normally(self.profile.preferences)
            and await asyncio.to_thread(self._mark_clean)
        )
        return "clean" if clean else "killed"

    async def kill(self) -> None:
        """End the process tree at once; the profile stays unclean."""
        await asyncio.to_thread(processes.end_tree, [self.process], sessions=[self.process.pid])

    async def _put_back(self, lost: Storage) -> None:
        refused = tuple(await self._storage.put_back(lost))
        back = tuple(origin for origin in lost if origin not in refused)
        self.preparation = dataclasses.replace(self.preparation, storage_put_back=back, refused_storage=refused)

    async def _restore(self) -> None:
        await cookies.clear(self.context)
        refused = await cookies.restore(self.context, self.profile.load_session_cookies())
        self.preparation = dataclasses.replace(self.preparation, refused_cookies=tuple(refused))
        self._digest = cookies.digest(await cookies.current(self.context))

    async def _close_kindly(self, seconds: float) -> bool:
        try:
            async with within(seconds, "closing the browser"):
                self._save(cookies.session_only(await cookies.current(self.context)))
                await asyncio.sleep(LAST_WORDS_SECONDS)
                await self.context.close()
                await processes.ended(self.process)
                await self._helpers_ended()
        except Exception:  # noqa: BLE001 - whatever it is, the tree is killed next
            return False
        return True

    async def _helpers_ended(self) -> None:
        # The process that stores pages' data may still be writing when the main one has ended.
        for _ in range(HELPERS_LOOKS):
            if not processes.session_members(self.process.pid, self.process.started):
                return
            await asyncio.sleep(0.01)

    def _mark_clean(self) -> bool:
        try:
            with locks.take(self.profile.volume, self.lock, "closing", self.fence) as held:
                self.profile.mark_clean(held)
        except (OSError, KoalaError):
            return False
        return True

    def _save(self, session: list[cookies.Cookie]) -> None:
        if session != self._saved:
            self.profile.save_session_cookies(session)
            self._saved = session

    def _watch(self, page: Page) -> None:
        page.on("crash", self._crashed)

    def _crashed(self, page: Page) -> None:
        for callback in self._crash:
            callback(page)


async def open_profile(
    driver: Driver,
    profile: ProfileDirectory,
    fence: Fence,
    binary: Path,
    options: BrowserOptions,
    *,
    adopt: bool = False,
    roll_back: bool = False,
) -> ProfileBrowser:
    """Prepare the profile under its lock, then start full Chromium on it; what a killed browser lost is back.

    `preparation` of the result says what was found and mended. Nothing runs after an error. Raises LockHeld,
    LowerFence, LockMissing, ProfileNewer, ProfileBinary, ProfileDamaged, BrowserFailed, BrowserHung.
    """
    refuse_shell(binary)
    preparation = await asyncio.to_thread(_prepare, profile, fence, binary, adopt, roll_back)
    lost = await asyncio.to_thread(profile.lost_storage, preparation)
    opened = await _launch(driver, profile, fence, binary, options)
    opened.preparation = preparation
    try:
        async with launch.asked(CALL_SECONDS, "restoring cookies"):
            await opened._restore()
        if lost:
            async with launch.asked(CALL_SECONDS + ORIGIN_SECONDS * len(lost), "putting local storage back"):
                await opened._put_back(lost)
    except BaseException:
        await opened.kill()
        raise
    return opened


def _prepare(profile: ProfileDirectory, fence: Fence, binary: Path, adopt: bool, roll_back: bool) -> Preparation:
    with locks.take(profile.volume, profile.lock, "preparing", fence) as held:
        return profile.prepare(held, binary, major_version(binary), adopt=adopt, roll_back=roll_back)


async def _launch(
    driver: Driver, profile: ProfileDirectory, fence: Fence, binary: Path, options: BrowserOptions
) -> ProfileBrowser:
    run = launch.Run(driver, binary, profile.lock, fence, options)
    context = await run.start(
        lambda arguments: driver.playwright.chromium.launch_persistent_context(
            profile.user_data, **arguments, **options.context()
        )
    )
    return ProfileBrowser(profile, fence, context, run.process())
