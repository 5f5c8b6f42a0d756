"""Where output goes: data to standard output, words for people to standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from koala.cli.text import clean, visible

PIPED_WIDTH = 200
"""Columns when the output is no terminal and COLUMNS is not set: tables there are for grep, not for eyes."""

Row = list[Text | str]
GAP = 2
NARROWEST = 8
"""Columns between two columns of a listing, and the least that one of them is cut to."""

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


def listing(columns: Sequence[str], rows: Sequence[Row], width: int = 0) -> Table:
    """A quiet table of one line a row. `>` before a name aligns its column right.

    A column whose name ends with `…` is cut where the width (that of standard output unless given) does not
    suffice; the others never are.
    """
    cells = [[Text(cell) if isinstance(cell, str) else cell for cell in row] for row in rows]
    names = [column.strip(">…") for column in columns]
    natural = [max([cell_len(name), *(row[at].cell_len for row in cells)]) for at, name in enumerate(names)]
    elastic = [at for at, column in enumerate(columns) if column.endswith("…")]
    room = (width or out().width) - GAP * (len(columns) - 1) - sum(natural) + sum(natural[at] for at in elastic)
    widths = dict(zip(elastic, _shared([natural[at] for at in elastic], room), strict=True))
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, GAP - 1, 0, 0))
    for at, (column, name) in enumerate(zip(columns, names, strict=True)):
        made.add_column(
            name,
            justify="right" if column.startswith(">") else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=widths.get(at, natural[at]),
        )
    for row in cells:
        made.add_row(*row)
    return made


def _shared(wanted: list[int], room: int) -> list[int]:
    """The room dealt out: who wants less than a share leaves the rest to the others; each gets NARROWEST."""
    given = dict.fromkeys(range(len(wanted)), 0)
    left = room
    for number, at in enumerate(sorted(given, key=lambda at: wanted[at])):
        share = left // (len(wanted) - number)
        given[at] = max(min(wanted[at], share), min(wanted[at], NARROWEST))
        left -= given[at]
    return list(given.values())
