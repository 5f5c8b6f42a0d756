"""What can go wrong with a browser, besides its profile and its lock."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from koala.errors import KoalaError
from koala.exits import Exit


class BrowserFailed(KoalaError):
    """The browser or its driver did not start, or is gone."""

    code, exit, retry = "browser_failed", Exit.BROWSER, True


class BrowserHung(BrowserFailed):
    """The browser or its driver did not answer in time."""

    code = "browser_hung"


@asynccontextmanager
async def within(seconds: float, what: str) -> AsyncIterator[None]:
    """Raise BrowserHung when the body takes longer: Playwright's own calls may wait for ever."""
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        raise BrowserHung(f"{what} did not answer within {seconds:g} s") from None
