"""Getting logins onto the disk: Chromium writes its cookies every thirty seconds, and forgets session
cookies.

A batch of 512 changes makes Chromium commit at once, so one throw-away cookie of a reserved domain is
changed often enough. That the commit happened is not believed but read from the database.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from worker.browser.errors import BrowserHung

DOMAIN = "koala-barrier.invalid"
CHANGES = 300
"""Each change counts twice (the old value goes, the new one comes): a little more than one batch."""
ROUND_SECONDS = 0.4
"""How long one batch may take to reach the file before another is sent."""

Cookie = dict[str, Any]


async def current(context: BrowserContext) -> list[Cookie]:
    """All cookies but our own, in a stable order."""
    found: list[Cookie] = [dict(cookie) for cookie in await context.cookies()]
    return sorted((c for c in found if c["domain"] != DOMAIN), key=_identity)


def session_only(cookies: list[Cookie]) -> list[Cookie]:
    """Those that the browser forgets at its end."""
    return [cookie for cookie in cookies if cookie["expires"] == -1]


def digest(cookies: list[Cookie]) -> str:
    """Changes whenever any cookie does; says nothing about their values."""
    return hashlib.sha256(json.dumps(cookies, sort_keys=True).encode()).hexdigest()


async def commit(context: BrowserContext, default: Path, seconds: float) -> None:
    """Return when every cookie set before this call is committed to the file. Raises BrowserHung."""
    name = f"commit-{secrets.token_hex(8)}"
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        await context.add_cookies(_batch(name))  # type: ignore[arg-type]
        if await _seen(default, name, min(deadline, time.monotonic() + ROUND_SECONDS)):
            await _expire(context, [name, f"{name}-changes"])
            return
    raise BrowserHung(f"the browser did not commit its cookies within {seconds:g} s")


async def clear(context: BrowserContext) -> int:
    """Remove throw-away cookies that a killed browser left; how many there were."""
    left = [c["name"] for c in await context.cookies(f"https://{DOMAIN}/") if "name" in c]
    if left:
        await _expire(context, left)
    return len(left)


async def restore(context: BrowserContext, kept: list[Cookie]) -> list[str]:
    """Set kept session cookies again, before the first navigation; names of those it would not take."""
    try:
        await context.add_cookies(kept)  # type: ignore[arg-type]
    except PlaywrightError:
        return [cookie["name"] for cookie in kept if not await _taken(context, cookie)]
    return []


async def _taken(context: BrowserContext, cookie: Cookie) -> bool:
    try:
        await context.add_cookies([cookie])  # type: ignore[list-item]
    except PlaywrightError:
        return False
    return True


async def _expire(context: BrowserContext, names: list[str]) -> None:
    # Not `clear_cookies`: with a filter it clears all cookies and sets the others again, and a kill in
    # between would log the profile out. A cookie that is set already expired only goes.
    await context.add_cookies([_throw_away(name, "", 1) for name in names])  # type: ignore[misc]


def _batch(name: str) -> list[Cookie]:
    # The one that is looked for is set once: a commit may fall between the end of an old value and the next.
    hour = time.time() + 3600
    changes = [_throw_away(f"{name}-changes", str(i), hour) for i in range(CHANGES)]
    return [_throw_away(name, "1", hour), *changes]


def _throw_away(name: str, value: str, expires: float) -> Cookie:
    return {"name": name, "value": value, "domain": DOMAIN, "path": "/", "expires": expires}


async def _seen(default: Path, name: str, deadline: float) -> bool:
    while time.monotonic() < deadline:
        if any(_committed(default / place, name) for place in ("Cookies", "Network/Cookies")):
            return True
        await asyncio.sleep(0.005)
    return False


def _committed(path: Path, name: str) -> bool:
    """Whether the cookie is in the file for good.

    Takes no lock: one of ours could make Chromium's commit fail.
    """
    try:
        return _listed(path, name) and not _half_done(path)
    except (OSError, sqlite3.DatabaseError):
        return False  # read in the middle of a commit


def _listed(path: Path, name: str) -> bool:
    with path.open("rb") as file:
        write_ahead = file.read(20)[18:20] == b"\x02\x02"
    mode = "mode=ro" if write_ahead else "mode=ro&nolock=1"  # with a write-ahead log readers disturb nobody
    with closing(sqlite3.connect(f"{path.as_uri()}?{mode}", uri=True, timeout=0.1)) as connection:
        asked = connection.execute("SELECT 1 FROM cookies WHERE host_key = ? AND name = ?", (DOMAIN, name))
        return asked.fetchone() is not None


def _half_done(path: Path) -> bool:
    """Whether the rollback journal would still undo what the file says."""
    try:
        with path.with_name(f"{path.name}-journal").open("rb") as journal:
            return any(journal.read(28))
    except FileNotFoundError:
        return False


def _identity(cookie: Cookie) -> tuple[str, ...]:
    return (cookie["domain"], cookie["path"], cookie["name"], str(cookie.get("partitionKey", "")))
