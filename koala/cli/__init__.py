"""`koala`: the command line."""

from __future__ import annotations

from collections.abc import Callable
from importlib import metadata
from typing import Annotated

import typer

from koala.cli import (
    attempt,
    drain,
    exits,
    failure,
    image,
    laptop,
    output,
    profile,
    restore,
    review,
    schedule,
    status,
    streams,
    submit,
    switch,
    systemd,
    tasks,
    workers,
)
from koala.cli.group import Commands, panel

app = typer.Typer(
    cls=Commands,
    add_completion=False,
    invoke_without_command=True,
    rich_markup_mode="markdown",
    epilog="Settings are KOALA_… variables. Exit codes: `koala exits`. Each command: `koala COMMAND --help`.",
)


@app.callback()
def root(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show where a fault of Koala itself happened.")] = False,
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    """Keep browser agents running as a service."""
    failure.debugging = debug
    if version:
        output.out().print(metadata.version("koala-agents"))
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


_COMMANDS: dict[str, Callable[..., None]] = {
    "submit": submit.submit,
    "tasks": tasks.list_,
    "task": tasks.one,
    "cancel": tasks.cancel,
    "retry": tasks.retry,
    "status": status.status,
    "workers": workers.workers,
    "pause": switch.pause,
    "resume": switch.resume,
    "drain": drain.drain,
    "run": laptop.run,
    "doctor": laptop.doctor,
    "exits": exits.exits,
}
_GROUPS = {
    "schedule": schedule.app,
    "systemd": systemd.app,
    "review": review.app,
    "attempt": attempt.app,
    "profile": profile.app,
    "image": image.app,
    "restore": restore.app,
}

for _name, _command in _COMMANDS.items():
    app.command(_name, rich_help_panel=panel(_name))(_command)
for _name, _group in _GROUPS.items():
    app.add_typer(_group, name=_name, rich_help_panel=panel(_name))


def main() -> None:
    """The entry point; always ends in SystemExit with a code of `koala.exits`."""
    streams.prepare()
    app(prog_name="koala")
