"""Where output goes: data to standard output, words for people to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from koala.cli.text import clean, visible

PIPED_WIDTH = 200
"""Columns when the output is no terminal and COLUMNS is not set: tables there are for grep, not for eyes."""

STATUS_STYLES = {
    "later": "blue",
    "ready": "cyan",
    "handed": "cyan",
    "running": "bold green",
    "review": "bold magenta",
    "done": "green",
    "failed": "red",
    "cancelled": "dim",
    "dead": "bold red",
    "expired": "yellow",
}


def _console(to_err: bool) -> Console:
    stream = sys.stderr if to_err else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    return Console(file=stream, width=width, markup=False, emoji=False, highlight=False)


def out() -> Console:
    """Standard output. Made anew each time, so that it follows redirection."""
    return _console(False)


def err() -> Console:
    """Standard error."""
    return _console(True)


def say(text: str, style: str = "") -> None:
    """One line for a person, made safe."""
    err().print(visible(text), style=style or None, soft_wrap=True)


def data(value: Any) -> None:
    """JSON to standard output: redacted, ASCII only, so nothing in it can control a terminal."""
    sys.stdout.write(json.dumps(clean(value), indent=2, ensure_ascii=True) + "\n")
    sys.stdout.flush()


def answer(value: Any, text: str, as_json: bool) -> None:
    """The outcome of a command: its data, or one line for a person."""
    if as_json:
        data(value)
    else:
        say(text)


def show(value: Callable[[], Any], view: Callable[[], RenderableType], as_json: bool) -> None:
    """A listing: its data, or how a person sees it."""
    if as_json:
        data(value())
    else:
        out().print(view())


def table(*columns: str, title: str = "") -> Table:
    """A quiet table. A column whose name begins with `>` is right-aligned; one with `…` is cut, not wrapped."""
    made = Table(
        box=box.SIMPLE_HEAD, title=title or None, title_justify="left", pad_edge=False, show_edge=False
    )
    for column in columns:
        name = column.strip(">…")
        cut = column.endswith("…")
        made.add_column(
            name,
            justify="right" if column.startswith(">") else "left",
            no_wrap=cut or name in ("id", "status"),
            overflow="ellipsis" if cut else "fold",
            min_width=18 if name == "id" else None,
        )
    return made
