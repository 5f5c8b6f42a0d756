"""`koala run` and `koala doctor`: commands of the worker program, for the machine one sits at."""

from __future__ import annotations

from typing import Annotated

import typer

from koala.cli import options
from koala.cli.program import become, words


def run(
    target: Annotated[
        str,
        typer.Argument(
            metavar="WORKFLOW", help="FILE.py:NAME, MODULE:NAME, or a known workflow's name.", show_default=False
        ),
    ],
    arg: Annotated[
        list[str] | None, typer.Option("--arg", metavar="NAME=VALUE", help="One argument. Repeatable.")
    ] = None,
    args: Annotated[str, typer.Option("--args", metavar="JSON", help="All arguments; @FILE reads them, - stdin.")] = "",
    profile: Annotated[
        str, typer.Option(metavar="NAME", help="The browser identity, of `koala profile list --laptop`; made when new.")
    ] = "",
    headed: Annotated[bool, typer.Option("--headed", help="Show the browser.")] = False,
    act: Annotated[bool, typer.Option("--act", help="Carry effects out. Without it they are only rehearsed.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Go on from a failed run's checkpoints.")] = False,
    as_json: options.Json = False,
) -> None:
    """Run one workflow here, without the pool, while you write it.

    There is one attempt, whatever its Limits say. Profiles, checkpoints and artifacts of such runs are below
    `$XDG_STATE_HOME/koala` (`~/.local/state/koala`), not in KOALA_DATA. A failure shows its traceback;
    KOALA_LOG_LEVEL=info leaves it out.

    Example: koala run shop.py:order --arg sku=K-100 --headed
    """
    given = words(arg=arg or [], args=args, profile=profile, headed=headed, act=act, keep=keep, json=as_json)
    become("run", target, *given)


def doctor(as_json: options.Json = False) -> None:
    """Check this machine: store, browser, limits, clock.

    Each fault is told with what to do about it.

    Example: koala doctor
    """
    become("doctor", *words(json=as_json))
