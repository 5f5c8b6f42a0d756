"""`profile login`: a visible browser on the profile, for a person to log in; its cookies go to disk meanwhile."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

from playwright.async_api import Error as PlaywrightError

from koala.cli.output import say
from koala.errors import Refused
from koala.exits import Exit
from worker.browser import BrowserFailed, ProfileBrowser
from worker.browser.launch import first_line
from worker.commands import terminal
from worker.commands.desk import Desk
from worker.commands.profile.holding import holding
from worker.commands.profile.session import Session

PACE_S = 1.0
"""How often it is looked whether cookies changed: what a login loses at most when everything is killed."""
OPEN_S = 30.0
UNSEEN = "KOALA_LOGIN_UNSEEN"
"""Set by tests: the browser is not shown."""


async def login(desk: Desk, name: str, url: str) -> Exit:
    """Until the person closes the window, presses Enter or Ctrl-C. Raises Refused without a display or a lease."""
    headed = not os.environ.get(UNSEEN)
    if headed:
        refuse_without_display(name)
    stop = asyncio.Event()
    async with holding(desk, name, f"login {name}") as held, terminal.on_stop(stop.set):
        session = Session(desk, name, held.fence)
        await held.work(_sit(session, url, headed, stop))
        await held.work(_tidy(session))
    if not session.closed_cleanly():
        say(f"the browser did not close cleanly; profile {name} is checked at its next use", style="yellow")
        return Exit.FAILED
    say(f"profile {name} is saved")
    return Exit.OK


def refuse_without_display(name: str) -> None:
    """Raise Refused, naming the other ways, where no browser can be shown."""
    if not terminal.has_display():
        raise Refused(
            f"{terminal.NO_DISPLAY}. Log in on a machine that has one, save the storage state there, and bring it "
            f"here with `koala profile import {name} STATE.json`; or come with `ssh -X`"
        )


async def _sit(session: Session, url: str, headed: bool, stop: asyncio.Event) -> None:
    async with session.browser(headed=headed) as browser:
        await _begin(browser, url)
        say(invitation())
        ends = {asyncio.ensure_future(end) for end in (browser.gone(), stop.wait(), *_enter())}
        try:
            while not any(end.done() for end in ends):
                await asyncio.wait(ends, timeout=PACE_S, return_when=asyncio.FIRST_COMPLETED)
                await _save(browser)
        finally:
            for end in ends:
                end.cancel()


def invitation() -> str:
    """What the person is told; Enter counts only where it can be read."""
    return f"Log in there. When you are done, close the window{' or press Enter here' if terminal.is_there() else ''}."


def _enter() -> list[Coroutine[Any, Any, str]]:
    return [terminal.line()] if terminal.is_there() else []


async def _begin(browser: ProfileBrowser, url: str) -> None:
    page = browser.context.pages[0] if browser.context.pages else await browser.new_page()
    if not url:
        return
    try:
        await page.goto(url, wait_until="commit", timeout=OPEN_S * 1000)
    except PlaywrightError as error:
        say(f"{url} does not open ({first_line(error)}); type another address into the window", style="yellow")


async def _save(browser: ProfileBrowser) -> None:
    """Bring what changed to disk, unless the window was just closed."""
    try:
        if browser.is_alive and await browser.settle():
            say("new logins are saved")
    except BrowserFailed:
        return


async def _tidy(session: Session) -> None:
    """After the person closed the window, Chromium ended by itself: open it once more, and close it our way."""
    if not session.closed_cleanly():
        async with session.browser():
            pass
