"""Someone who opens a profile again and again, and logs into the shop with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.async_api import Page

from koala.fence import Fence
from worker.browser import BrowserOptions, Driver, ProfileBrowser, open_profile
from worker.profiles import ProfileDirectory


@dataclass
class Visitor:
    """Each `open` is under the next fence, as each attempt's is."""

    driver: Driver
    profile: ProfileDirectory
    binary: Path
    options: BrowserOptions
    shop: str
    counter: int = 0

    async def open(self, **how: Any) -> ProfileBrowser:
        """The profile in a browser. Raises what `open_profile` raises."""
        self.counter += 1
        fence = Fence(1, self.counter)
        return await open_profile(self.driver, self.profile, fence, self.binary, self.options, **how)

    async def log_in(self, browser: ProfileBrowser) -> Page:
        """A new tab, logged into the shop as alice, and at rest on the page that the login leads to."""
        page = await browser.new_page()
        await page.goto(f"{self.shop}/login")
        await page.fill("#username", "alice")
        await page.fill("#password", "alice-pw")
        await page.click("main button")
        await page.wait_for_url(f"{self.shop}/account")  # a click does not wait for where it leads
        return page

    async def cookies(self, browser: ProfileBrowser) -> set[str]:
        """Names of the shop's cookies."""
        return {cookie["name"] for cookie in await browser.context.cookies(self.shop)}

    async def is_logged_in(self, browser: ProfileBrowser) -> bool:
        """What the shop says."""
        page = await browser.new_page()
        await page.goto(f"{self.shop}/account")
        return page.url == f"{self.shop}/account"
