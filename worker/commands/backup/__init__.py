"""`python -m worker backup …`: a snapshot of the store, and the closed profiles as one tar, while the pool runs.

The store comes first: profiles that are newer than the store's records are harmless, for a workflow that finds itself
logged in goes on. Older ones are not: a step that logged in is recorded, and the login is not there.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from koala.cli.output import say
from koala.errors import InvalidArguments
from koala.exits import Exit
from koala.settings import Settings
from worker.commands.backup import profiles, snapshot
from worker.commands.desk import desk

SAVE_S = 600.0
PATIENCE_S = 30.0


def add(commands: Any) -> None:
    """Add `backup` and its own commands."""
    verbs = commands.add_parser("backup", help="store and profiles, while the pool runs")
    verbs = verbs.add_subparsers(dest="verb", required=True)
    verbs.add_parser("store", help="have Redis write a snapshot, and say where it is")
    kept = verbs.add_parser("profiles", help="all profiles as a tar on standard output")
    kept.add_argument("--wait", type=float, default=PATIENCE_S, help="seconds for a profile in use to become free")


def run(config: Settings, given: argparse.Namespace) -> Exit:
    """Run one of them. Raises KoalaError."""
    if given.verb == "profiles" and sys.stdout.isatty():
        raise InvalidArguments("the tar goes to standard output: send it to a file, `> profiles.tar`")
    with desk(config) as at:
        if given.verb == "store":
            return snapshot.tell(at.store, SAVE_S)
        for kept in profiles.write(at, sys.stdout.buffer, given.wait):
            say(str(kept))
    return Exit.OK
