"""Local storage of open pages: read at a barrier, and put back into a new browser where a killed one lost it."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import BrowserContext, Page, Route
from playwright.async_api import Error as PlaywrightError

from worker.profiles.pending import Items, Pending, Storage

READ_SECONDS = 0.5
"""How long one page may take to answer; a page that computes keeps what was read of its origin before."""
ON_ITS_WAY_SECONDS = 0.02
"""What a page has just put into its storage reaches Chromium's other processes a little later."""
ORIGIN_SECONDS = 5.0
"""How long putting back one origin's may take."""
LARGEST = 1024 * 1024
"""Characters of one origin that are still read: what is larger holds more than a login."""
READ = f"""() => {{
    const items = Object.entries(localStorage);
    const size = items.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
    return [location.origin, size <= {LARGEST} ? items : null];
}}"""
ADD = "items => { for (const [name, value] of items) localStorage.setItem(name, value) }"
REPLACE = """items => {
    const wanted = new Map(items);
    for (const name of Object.keys(localStorage)) if (!wanted.has(name)) localStorage.removeItem(name);
    for (const [name, value] of wanted) if (localStorage.getItem(name) !== value) localStorage.setItem(name, value);
}"""


class LocalStorage:
    """That of a profile's open pages, and the file in which barriers keep it."""

    def __init__(self, context: BrowserContext, pending: Pending) -> None:
        self._context = context
        self._pending = pending
        self._kept: dict[str, str] = {}
        """Of each origin the digest of what was kept last."""

    async def keep(self) -> bool:
        """Keep all items of the origins that tabs are at, where they changed; whether any had.

        Not those of frames within, of a tab that does not answer, and of an origin that has more than `LARGEST`.
        """
        found = await _current(self._context)
        new = {origin: items for origin, items in found.items() if _digest(items) != self._kept.get(origin)}
        if new:
            await asyncio.sleep(ON_ITS_WAY_SECONDS)
            await asyncio.to_thread(self._pending.keep, new)
            self._kept.update({origin: _digest(items) for origin, items in new.items()})
        return bool(new)

    async def put_back(self, lost: Storage) -> list[str]:
        """Make each origin's storage what is given, without a word to its site; the origins that would not have it."""
        async with quiet_page(self._context) as page:
            refused = [origin for origin, items in lost.items() if not await _put(page, origin, items)]
            await asyncio.to_thread(self._pending.keep, lost)
        return refused


async def put(page: Page, origin: str, items: Items, script: str, seconds: float) -> None:
    """Run ADD or REPLACE with the items at the origin, on a quiet page. Raises Playwright's Error."""
    await page.goto(origin, timeout=seconds * 1000)
    await page.evaluate(script, list(items.items()))


@asynccontextmanager
async def quiet_page(context: BrowserContext) -> AsyncIterator[Page]:
    """A page that can be at any origin without a word to its site. The context is offline meanwhile."""

    async def empty(route: Route) -> None:
        await route.fulfill(body="<html></html>", content_type="text/html")

    page = await context.new_page()
    await context.set_offline(True)
    try:
        cdp = await context.new_cdp_session(page)
        await cdp.send("Network.enable")
        await cdp.send("Network.setBypassServiceWorker", {"bypass": True})
        await page.route("**/*", empty)
        yield page
    finally:
        await page.close()
        await context.set_offline(False)


async def _current(context: BrowserContext) -> Storage:
    pages = [page for page in context.pages if page.url.startswith(("https://", "http://"))]
    found = await asyncio.gather(*map(_read, pages))
    return {origin: dict(items) for origin, items in filter(None, found) if items is not None}


def _digest(items: Items) -> str:
    return hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()


async def _read(page: Page) -> tuple[str, list[tuple[str, str]] | None] | None:
    try:
        async with asyncio.timeout(READ_SECONDS):
            origin, items = await page.evaluate(READ)
            return origin, items
    except (TimeoutError, PlaywrightError):
        return None  # it computes, is on its way elsewhere, or may not have any storage


async def _put(page: Page, origin: str, items: Items) -> bool:
    try:
        await put(page, origin, items, REPLACE, ORIGIN_SECONDS)
    except PlaywrightError:
        return False
    return True
