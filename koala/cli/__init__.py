"""`koala`: the command line."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from koala.cli import (
    attempt,
    drain,
    exits,
    failure,
    laptop,
    profile,
    review,
    status,
    submit,
    switch,
    tasks,
    workers,
)
from koala.cli.failure import Commands

TASKS, PEOPLE, POOL, LAPTOP, PROFILES = "Tasks", "People", "Pool", "This machine", "Profiles"

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="rich",
    epilog="Settings are KOALA_… variables. Exit codes: `koala exits`. Each command: `koala COMMAND --help`.",
)


@app.callback()
def root(
    context: typer.Context,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where a fault of Koala itself happened.")
    ] = False,
) -> None:
    """Keep browser agents running as a service."""
    failure.debugging = debug
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _name, _command, _panel in (
    ("submit", submit.submit, TASKS),
    ("tasks", tasks.list_, TASKS),
    ("task", tasks.one, TASKS),
    ("cancel", tasks.cancel, TASKS),
    ("retry", tasks.retry, TASKS),
    ("status", status.status, POOL),
    ("workers", workers.workers, POOL),
    ("pause", switch.pause, POOL),
    ("resume", switch.resume, POOL),
    ("drain", drain.drain, POOL),
    ("run", laptop.run, LAPTOP),
    ("doctor", laptop.doctor, LAPTOP),
    ("exits", exits.exits, LAPTOP),
):
    app.command(_name, rich_help_panel=_panel)(_command)

app.add_typer(
    review.app,
    name="review",
    rich_help_panel=PEOPLE,
    help="Questions that wait for a person: list, show, answer.",
)
app.add_typer(
    attempt.app, name="attempt", rich_help_panel=PEOPLE, help="Say that an attempt is gone for good."
)
app.add_typer(
    profile.app,
    name="profile",
    rich_help_panel=PROFILES,
    help="Browser identities: login, import, list, export, …",
)


def main() -> None:
    """The entry point; always ends in SystemExit with a code of `koala.exits`."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a terminal of few letters shows escapes instead of failing
            stream.reconfigure(errors="backslashreplace")
    app(prog_name="koala")
