"""Options that several commands share."""

from __future__ import annotations

import getpass
import os
from typing import Annotated

import typer

from koala.errors import InvalidArguments

Json = Annotated[bool, typer.Option("--json", help="Print JSON to standard output.")]
As = Annotated[str, typer.Option("--as", metavar="NAME", help="Who says so. Default: your user name.")]
Why = Annotated[str, typer.Option("--why", metavar="TEXT", help="A note that is kept with it.")]
TaskId = Annotated[str, typer.Argument(metavar="ID", help="The task's id.", show_default=False)]

LONGEST = 200


def who(given: str) -> str:
    """Who is kept with an answer or a switch: `--as`, else the user's name. Raises InvalidArguments."""
    name = given.strip() or _user()
    if len(name) > LONGEST or not name.isprintable():
        raise InvalidArguments(f"--as takes a name of at most {LONGEST} printable characters")
    return name


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a user id without an account, as in containers
        return f"uid-{os.getuid()}"
