"""`koala run` and `koala doctor`: commands of the worker program, for the machine one sits at."""

from __future__ import annotations

from typing import Annotated

import typer

from koala.cli import options
from koala.cli.program import become, words
from koala.errors import InvalidArguments


def run(
    target: Annotated[
        str,
        typer.Argument(metavar="FILE:WORKFLOW", help="A file or module, and the workflow in it.", show_default=False),
    ],
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="NAME=VALUE", help="One argument. Repeatable.")
    ] = None,
    profile: Annotated[str, typer.Option(metavar="NAME", help="The browser identity to run in.")] = "",
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.")] = False,
    act: Annotated[bool, typer.Option("--act", help="Carry effects out. Without it they are only rehearsed.")] = False,
    as_json: options.Json = False,
) -> None:
    """Run one workflow here, without the pool, while you write it.

    Example: koala run shop.py:order --arg sku=K-100 --headed
    """
    if not all(target.rpartition(":")):
        raise InvalidArguments(f"{target!r} names no workflow: write it as file.py:name or module:name")
    become("run", target, *words(arg=arg or [], profile=profile, headed=headed, act=act, json=as_json))


def doctor(as_json: options.Json = False) -> None:
    """Check this machine: store, browser, limits, clock.

    Each fault is told with what to do about it.

    Example: koala doctor
    """
    become("doctor", *words(json=as_json))
