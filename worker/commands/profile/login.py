"""`profile login`: a visible browser on the profile, for a person to log in; its cookies go to disk meanwhile."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Error as PlaywrightError

from koala.cli.output import say
from koala.errors import Refused
from koala.exits import Exit
from worker.browser import BrowserFailed, ProfileBrowser
from worker.browser.launch import first_line
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
    async with holding(desk, name, f"login {name}") as held, _ended_by_person() as ended:
        session = Session(desk, name, held.fence)
        await held.work(_sit(session, url, headed, ended))
        await held.work(_tidy(session))
    if not session.closed_cleanly():
        say(f"the browser did not close cleanly; profile {name} is checked at its next use", style="yellow")
        return Exit.FAILED
    say(f"profile {name} is saved")
    return Exit.OK


def refuse_without_display(name: str) -> None:
    """Raise Refused, naming the other ways, where no browser can be shown."""
    if os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"):
        return
    raise Refused(
        "no display: DISPLAY and WAYLAND_DISPLAY are not set. Log in on a machine that has one, save the storage "
        f"state there, and bring it here with `koala profile import {name} STATE.json`; or come with `ssh -X`"
    )


async def _sit(session: Session, url: str, headed: bool, ended: asyncio.Event) -> None:
    async with session.browser(headed=headed) as browser:
        await _begin(browser, url)
        say("Log in there. When you are done, close the window or press Enter here.")
        gone = asyncio.ensure_future(browser.gone())
        over = asyncio.ensure_future(ended.wait())
        try:
            while not (gone.done() or over.done()):
                await asyncio.wait({gone, over}, timeout=PACE_S, return_when=asyncio.FIRST_COMPLETED)
                await _save(browser)
        finally:
            gone.cancel()
            over.cancel()


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
        if browser.is_alive and await browser.changed():
            await browser.barrier()
    except BrowserFailed:
        return


async def _tidy(session: Session) -> None:
    """After the person closed the window, Chromium ended by itself: open it once more, and close it our way."""
    if not session.closed_cleanly():
        async with session.browser():
            pass


@asynccontextmanager
async def _ended_by_person() -> AsyncIterator[asyncio.Event]:
    """Set at Enter in the terminal, at Ctrl-C and at SIGTERM."""
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in signals:
        loop.add_signal_handler(number, ended.set)
    terminal = sys.stdin.isatty()
    if terminal:
        loop.add_reader(sys.stdin, lambda: (sys.stdin.readline(), ended.set()))
    try:
        yield ended
    finally:
        if terminal:
            loop.remove_reader(sys.stdin)
        for number in signals:
            loop.remove_signal_handler(number)
