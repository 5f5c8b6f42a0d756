"""`koala systemd`: the pool as the machine's service manager sees it."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from koala.cli import options
from koala.cli.output import out, show
from koala.errors import NotFound
from koala.exits import PERMANENT

app = typer.Typer(no_args_is_help=True)

OURS = "koala-agent-*"
STORE = "redis-server@koala.service"
NEVER_AGAIN = f"{min(PERMANENT)} to {max(PERMANENT)}"


@dataclass(frozen=True)
class Check:
    """A command that only reads, what it tells, and what the words in its answer mean."""

    command: tuple[str, ...]
    about: str
    words: dict[str, str]

    @property
    def line(self) -> str:
        """As one types it."""
        return shlex.join(self.command)


CHECKS = (
    Check(
        ("systemctl", "list-timers", "--all", OURS),
        "a line for each schedule that a timer looks after",
        {
            "NEXT": "when it is looked at again; none while its run lasts, or while the timer is off",
            "LAST": "when it last was; none: never",
        },
    ),
    Check(
        ("systemctl", "status", "--no-pager", "--lines=5", OURS, STORE),
        "how each unit is that was started; one that is not shown was not",
        {
            "active (running)": "all is well",
            "deactivating": "it drains: what runs ends or stops at its next checkpoint",
            "activating (auto-restart)": "it failed, and is tried again soon",
            "inactive (dead)": "it was stopped, or it drained, or its run is over",
            "failed": "it is left alone until systemctl reset-failed UNIT, systemctl start UNIT. Its Result says why:",
            "  exit-code": f"with a status of {NEVER_AGAIN}, a person has to mend something: `koala exits`",
            "  start-limit-hit": "too many failures; the journal says `Start request repeated too quickly`",
            "  timeout": "a stop took longer than TimeoutStopSec, and was cut",
            "  oom-kill": "the machine's memory, or MemoryMax, is too small",
        },
    ),
    Check(
        ("journalctl", "--no-pager", "--since", "today", "--unit", OURS, "--unit", STORE),
        "what they said today",
        {
            "{...}": "an action of a program, as JSON",
            "error[...]": "why a program did not start, and what to do",
        },
    ),
)


@app.callback()
def _group() -> None:
    """The pool under systemd (by `make install-systemd`)."""


@app.command("check")
def check(
    run: Annotated[bool, typer.Option("--run", help="Run each one too, and show its answer.")] = False,
    as_json: options.Json = False,
) -> None:
    """Print the commands that show how the units are, and what their answers mean. None of them changes anything.

    Example: koala systemd check --run
    """
    if run and not as_json:
        _run()
        return
    show(
        lambda: [{"command": one.command, "line": one.line, "about": one.about, "words": one.words} for one in CHECKS],
        lambda: Group(*(_shown(one) for one in CHECKS)),
        as_json,
    )


def _shown(one: Check) -> RenderableType:
    words = Table.grid(padding=(0, 2))
    for word, meaning in one.words.items():
        words.add_row(f"  {word}", meaning)
    return Group(Text(one.line, "bold"), Text(f"  {one.about}", "dim"), words, Text())


def _run() -> None:
    """Each command with its meaning and its answer; the commands' own exit codes say nothing about Koala."""
    for one in CHECKS:
        if shutil.which(one.command[0]) is None:
            raise NotFound(f"there is no {one.command[0]} here: this machine does not run systemd")
        out().print(_shown(one))
        sys.stdout.flush()
        subprocess.run(one.command, check=False)
