"""`python -m worker profile …`: browser identities, each touched only under its lease."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

from koala import names
from koala.errors import InvalidArguments
from koala.exits import Exit
from koala.settings import Settings
from worker.commands.desk import Desk, desk
from worker.commands.profile.listing import list_
from worker.commands.profile.login import login
from worker.commands.profile.removal import delete
from worker.commands.profile.transfer import export, import_
from worker.commands.profile.unlocking import unlock
from worker.commands.run.home import home


def add(commands: Any) -> None:
    """Add `profile` and its own commands."""
    verbs = commands.add_parser("profile", help="browser identities").add_subparsers(dest="verb", required=True)
    for verb, text in (
        ("login", "a visible browser, to log in by hand"),
        ("import", "logins out of a storage state"),
        ("export", "the logins as a storage state"),
        ("delete", "the profile and its logins, for good"),
        ("unlock", "end the old browser that keeps it"),
    ):
        verbs.add_parser(verb, help=text).add_argument("name", type=lambda text: names.check("profile", text))
    verbs.choices["login"].add_argument("--url", default="")
    for verb in ("import", "export"):
        verbs.choices[verb].add_argument("file", type=Path)
    verbs.choices["unlock"].add_argument("--because", required=True)
    for verb in ("delete", "unlock"):
        verbs.choices[verb].add_argument("--yes", action="store_true")
    verbs.add_parser("list", help="all of them").add_argument("--json", action="store_true", dest="as_json")
    for verb in verbs.choices.values():
        verb.add_argument("--laptop", action="store_true", help="those of `koala run`, instead of the pool's")


def run(config: Settings, given: argparse.Namespace) -> Exit:
    """Run one of them. Raises KoalaError."""
    if str(getattr(given, "file", "")) == "-":
        raise InvalidArguments(
            "- is no file: logins do not go through a pipe, where they would be seen. Name a file of your own"
        )
    if not given.laptop:
        return _run(config, given, lambda: desk(config))
    with home() as here:
        return _run(here.settings, given, lambda: nullcontext(Desk(here.settings, here.store, here.volume)))


def _run(config: Settings, given: argparse.Namespace, opened: Callable[[], AbstractContextManager[Desk]]) -> Exit:
    if given.verb == "list":
        return list_(config, given.as_json)
    with opened() as at:
        if given.verb == "unlock":
            return unlock(at, given.name, given.because, yes=given.yes)
        return asyncio.run(_touch(at, given))


async def _touch(at: Desk, given: argparse.Namespace) -> Exit:
    """What needs the profile's lease."""
    if given.verb == "login":
        return await login(at, given.name, given.url)
    if given.verb == "delete":
        return await delete(at, given.name, yes=given.yes)
    return await (import_ if given.verb == "import" else export)(at, given.name, given.file)
