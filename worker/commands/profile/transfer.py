"""`profile import` and `profile export`: logins into a profile and out of it, as a storage state."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from koala.cli.output import say
from koala.errors import NotFound, Refused
from koala.exits import Exit
from worker import profiles
from worker.browser import ProfileBrowser, storage
from worker.browser.cookies import DOMAIN
from worker.commands.desk import Desk
from worker.commands.profile import state
from worker.commands.profile.holding import holding
from worker.commands.profile.session import Session
from worker.commands.profile.state import Origin, StorageState

PAGE_S = 10.0


async def import_(desk: Desk, name: str, path: Path) -> Exit:
    """Add a state's logins to the profile, made when it is new. Raises InvalidArguments, Refused."""
    given = state.read(path)
    async with holding(desk, name, f"import {name}") as held:
        session = Session(desk, name, held.fence)
        directory = profiles.create(desk.volume, name)
        new = directory.record().state == "new"
        if not new and any(origin.beyond for origin in given.origins):
            raise Refused(
                f"profile {name} exists, and the state holds more than cookies and local storage (IndexedDB): "
                "that goes only into a new profile. Choose another name, or delete this one first"
            )
        await held.work(_put(session, given, new))
    return _told(session, f"profile {name} has {_amount(given)} of {path.name}", "import")


async def _put(session: Session, given: StorageState, new: bool) -> None:
    async with session.browser() as browser:
        if new:
            await browser.context.set_storage_state(given.plain())  # type: ignore[arg-type]
        else:
            await _add(browser, given)
        await browser.barrier()


async def _add(browser: ProfileBrowser, given: StorageState) -> None:
    # Playwright's own call would clear every other login first, and a kill in between would lose them.
    if given.cookies:
        await browser.context.add_cookies(given.plain()["cookies"])
    async with storage.quiet_page(browser.context) as page:
        for origin in given.origins:
            items = {item.name: item.value for item in origin.localStorage}
            await storage.put(page, origin.origin, items, storage.ADD, PAGE_S)


async def export(desk: Desk, name: str, path: Path) -> Exit:
    """Write the profile's logins into a new file, mode 0600. Raises NotFound, Refused when the file exists."""
    directory = profiles.find(desk.volume, name)
    if os.path.lexists(path):
        raise Refused(f"{path} exists: choose a new file")
    if not os.access(path.absolute().parent, os.W_OK):
        raise Refused(f"{path.absolute().parent} is not a directory that we can write into")
    if directory.record().state == "new":
        raise NotFound(f"profile {name} has never been opened: there is nothing to export")
    async with holding(desk, name, f"export {name}") as held:
        session = Session(desk, name, held.fence)
        found = await held.work(_get(session))
        _write(path, found)
    amount = _amount(StorageState.model_validate(found))
    return _told(session, f"{path} has {amount}. Whoever has the file is logged in: keep it secret", "export")


async def _get(session: Session) -> dict[str, Any]:
    visited = state.visited(profiles.find(session.desk.volume, session.profile).user_data)
    async with session.browser() as browser:
        cookies = [dict(cookie) for cookie in await browser.context.cookies()]
        async with storage.quiet_page(browser.context) as page:
            for origin in state.origins(visited, cookies):
                await page.goto(origin, timeout=PAGE_S * 1000)
            found: dict[str, Any] = dict(await browser.context.storage_state(indexed_db=True))
    found["cookies"] = [cookie for cookie in found["cookies"] if cookie["domain"] != DOMAIN]
    return found


def _write(path: Path, content: dict[str, Any]) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, ensure_ascii=False)
        file.write("\n")


def _amount(of: StorageState) -> str:
    kept: list[Origin] = [origin for origin in of.origins if origin.localStorage or origin.beyond]
    return f"{len(of.cookies)} cookies and the storage of {len(kept)} origins"


def _told(session: Session, done: str, verb: str) -> Exit:
    say(done)
    if session.closed_cleanly():
        return Exit.OK
    say(f"the browser did not close cleanly after the {verb}; the profile is checked at its next use", style="yellow")
    return Exit.FAILED
