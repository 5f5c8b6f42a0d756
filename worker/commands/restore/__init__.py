"""`python -m worker restore …`: the parts of a restore that touch data volume and store; `make restore` joins them.

check      nobody who could act is left on this machine
profiles   the profiles of a backup in the place of what is there, which is kept aside
declare    the store was put back: it begins a new epoch, and its tasks look before they act
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from koala.cli.output import say
from koala.errors import InvalidArguments
from koala.exits import Exit
from koala.settings import Settings
from worker import volume
from worker.commands.desk import desk
from worker.commands.restore import check, declare, profiles

DOUBT_DAYS = 1.0


def add(commands: Any) -> None:
    """Add `restore` and its own commands."""
    verbs = commands.add_parser("restore", help="put a backup back").add_subparsers(dest="verb", required=True)
    verbs.add_parser("check", help="whether anybody is left who could still act")
    put = verbs.add_parser("profiles", help="put the profiles of the tar on standard input in place")
    put.add_argument("--id", required=True, help="names this restore: the same again goes on with it")
    said = verbs.add_parser("declare", help="say that the store was restored")
    said.add_argument("--because", required=True)
    said.add_argument("--others-gone", default="", help="how you know that nothing runs on the backup's other machines")
    said.add_argument("--doubt-days", type=float, default=DOUBT_DAYS)
    said.add_argument("--anyway", action="store_true", help="also while somebody still holds a lock here")
    said.add_argument("--json", action="store_true", dest="as_json")


def run(config: Settings, given: argparse.Namespace) -> Exit:
    """Run one of them. Raises KoalaError."""
    if given.verb == "declare":
        with desk(config, restored=True) as at:
            return declare.declare(at, given)
    where = volume.create(config.data)
    if given.verb == "check":
        return check.check(where)
    if sys.stdin.isatty():
        raise InvalidArguments("the tar comes on standard input: `< profiles.tar`")
    for line in profiles.put(where, sys.stdin.buffer, given.id):
        say(line)
    return Exit.OK
