"""During an act the driver sends a page's unsafe requests. Once each: it never sends one again by itself.

Chromium does, for every method, when a connection that it had used before dies before the first byte of the answer.
"""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page, Request, Route

SAFE = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
MOST_MS = 600_000
"""Longer than any act may take: its own deadline comes first."""
LANGUAGES_SECONDS = 1.0
MODES = {"document": "navigate", "ping": "no-cors"}


class Sending:
    """A route handler for one act. `languages` is what the page prefers, best first."""

    def __init__(self, languages: list[str]) -> None:
        self._languages = ",".join(
            language if not place else f"{language};q={max(10 - place, 1) / 10}"
            for place, language in enumerate(languages)
        )

    async def __call__(self, route: Route) -> None:
        if route.request.method in SAFE:
            await route.fallback()
            return
        headers = {**route.request.headers, **self._added(route.request)}
        try:
            response = await route.fetch(headers=headers, max_redirects=0, timeout=MOST_MS)
            await route.fulfill(response=response)
        except PlaywrightError:
            await route.abort("connectionreset")

    def _added(self, request: Request) -> dict[str, str]:
        """What Chromium's network adds, and sites check against forged requests: as far as it is known for sure."""
        added = {"accept-language": self._languages} if self._languages else {}
        return added | (_fetch_metadata(request) if _is_same_origin(request) else {})


async def languages(page: Page | None) -> list[str]:
    """What the page's browser prefers; empty for a page that does not answer."""
    try:
        async with asyncio.timeout(LANGUAGES_SECONDS):
            return [str(one) for one in await page.evaluate("navigator.languages")] if page else []
    except (TimeoutError, PlaywrightError):
        return []


def _is_same_origin(request: Request) -> bool:
    to = urlsplit(request.url)
    return request.headers.get("origin") == f"{to.scheme}://{to.netloc}"


def _fetch_metadata(request: Request) -> dict[str, str]:
    mode = MODES.get(request.resource_type, "cors")
    given = {"sec-fetch-site": "same-origin", "sec-fetch-mode": mode, "sec-fetch-dest": "empty"}
    if mode != "navigate":
        return given
    return given | {"sec-fetch-dest": "iframe" if _is_within(request) else "document", "sec-fetch-user": "?1"}


def _is_within(request: Request) -> bool:
    try:
        return request.frame.parent_frame is not None
    except PlaywrightError:  # a service worker's, or of a window that is still to come
        return False
