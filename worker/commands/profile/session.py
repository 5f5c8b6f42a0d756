"""A browser of this command's own on a profile: opened under the lease at hand, closed cleanly at the end."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from koala.errors import Refused
from koala.fence import Fence
from worker import profiles
from worker.browser import BrowserOptions, Driver, ProfileBrowser, find_browsers, open_profile
from worker.commands.desk import Desk
from worker.engine import Engine
from worker.locks import LockHeld


@dataclass(frozen=True)
class Session:
    """What opens browsers on one profile, under one fence. The profile is made when it does not exist."""

    desk: Desk
    profile: str
    fence: Fence

    @asynccontextmanager
    async def browser(self, *, headed: bool = False) -> AsyncIterator[ProfileBrowser]:
        """The profile in full Chromium. Raises what `open_profile` raises, Refused where an old browser has it."""
        self._tmp.mkdir(mode=0o700, parents=True, exist_ok=True)
        engine = self._engine(headed)
        try:
            opened = await self._open(await engine.ready(self.fence), engine)
            try:
                yield opened
            finally:
                await opened.close(self.desk.settings.close_budget_s)
        finally:
            await engine.close()
            await asyncio.to_thread(shutil.rmtree, self._tmp, True)

    async def _open(self, driver: Driver, engine: Engine) -> ProfileBrowser:
        directory = profiles.create(self.desk.volume, self.profile)
        try:
            return await open_profile(driver, directory, self.fence, engine.browsers().for_profile(), engine.options)
        except LockHeld as error:
            raise Refused(
                f"an old browser still has the profile: {error}. "
                f'`koala profile unlock {self.profile} --because "…"` shows it, and ends it'
            ) from None

    def _engine(self, headed: bool) -> Engine:
        config = self.desk.settings
        options = BrowserOptions(
            tmp=self._tmp,
            headed=headed,
            sandbox=config.browser_sandbox,
            proxy=config.proxy or None,
            viewport=None if headed else (1280, 800),
        )
        browsers = lambda: find_browsers(config.chromium, config.headless_shell)  # noqa: E731
        return Engine(self.desk.volume, browsers, options, lambda lock: None)

    @property
    def _tmp(self) -> Path:
        return self.desk.volume.tmp / f"profile-{self.fence}"

    def closed_cleanly(self) -> bool:
        """Whether the profile's last browser was closed as it should be."""
        return profiles.find(self.desk.volume, self.profile).record().state == "clean"
