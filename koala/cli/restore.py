"""`koala restore`: the parts of a restore that a person may need by hand; `make restore` does all of it."""

from __future__ import annotations

from typing import Annotated

import typer

from koala.cli import options
from koala.cli.program import become, words

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """A restored store: say so before anything starts."""


@app.command("check")
def check() -> None:
    """Whether anybody is left on this machine who could still act: a child, a driver or a browser.

    Example: koala restore check
    """
    become("restore", "check")


@app.command("declare")
def declare(
    because: Annotated[str, typer.Option(metavar="TEXT", help="Why it was restored.", show_default=False)],
    others_gone: Annotated[
        str, typer.Option(metavar="TEXT", help="How you know that nothing runs on the backup's other machines.")
    ] = "",
    doubt_days: Annotated[
        float, typer.Option(metavar="DAYS", help="How long new tasks with an unknown key look first, too.")
    ] = 1.0,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also while somebody here still holds a lock.")] = False,
    as_json: options.Json = False,
) -> None:
    """Say that the store was put back from a backup. Workers and schedulers have to be stopped.

    It begins a new epoch; every effect of a task that has not ended is looked for before it is done. Killed in the
    middle, nothing starts until it is declared again.

    Example: koala restore declare --because "the disk broke"
    """
    given = words(because=because, others_gone=others_gone, doubt_days=str(doubt_days), anyway=anyway, json=as_json)
    become("restore", "declare", *given)
