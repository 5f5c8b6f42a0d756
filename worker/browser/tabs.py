"""Tabs, with time limits: Playwright waits for ever where a renderer died and Chromium told nobody."""

from __future__ import annotations

import asyncio

from playwright.async_api import BrowserContext, Page
from playwright.async_api import Error as PlaywrightError

from worker.browser import launch
from worker.browser.errors import BrowserFailed

OPEN_SECONDS = 10.0
TRIES = 3
ANSWER_SECONDS = 2.0


async def open_tab(context: BrowserContext, seconds: float = OPEN_SECONDS) -> Page:
    """A new tab. One whose renderer died while it was made never comes: then another is made, `TRIES` in all.

    Raises BrowserHung, BrowserFailed.
    """
    for _ in range(TRIES - 1):
        try:
            return await _new_page(context, seconds)
        except BrowserFailed:
            continue
    return await _new_page(context, seconds)


async def _new_page(context: BrowserContext, seconds: float) -> Page:
    async with launch.asked(seconds, "a new page"):
        return await context.new_page()


async def answers(page: Page, seconds: float = ANSWER_SECONDS) -> bool:
    """Whether anybody is there; an error is an answer too. False also for a page that computes all that time."""
    try:
        async with asyncio.timeout(seconds):
            await page.evaluate("0")
    except TimeoutError:
        return False
    except PlaywrightError:
        pass
    return True
