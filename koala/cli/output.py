"""Where output goes: data to standard output, words for people to standard error."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from koala.cli.streams import written
from koala.cli.text import as_json as spelled
from koala.cli.text import visible
from koala.errors import OutputLost

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


class _Output(Console):
    """Standard output as rich writes it. Raises OutputLost, or BrokenPipeError when its reader has left."""

    def print(self, *objects: Any, **how: Any) -> None:
        with written():
            super().print(*objects, **how)

    def on_broken_pipe(self) -> NoReturn:
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))


@contextmanager
def done(text: str) -> Iterator[None]:
    """Inside, the outcome of what is done already is written. Raises OutputLost that says so where it cannot be."""
    try:
        yield
    except BrokenPipeError:
        raise OutputLost(f"nobody reads standard output any more, but it was done: {text}") from None
    except OutputLost as error:
        raise OutputLost(f"{error}, but it was done: {text}") from None


def _console(to_err: bool) -> Console:
    stream = sys.stderr if to_err else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPED_WIDTH
    made = Console if to_err else _Output
    return made(file=stream, width=width, markup=False, emoji=False, highlight=False)


def out() -> Console:
    """Standard output. Made anew each time, so that it follows redirection."""
    return _console(False)


def err() -> Console:
    """Standard error."""
    return _console(True)


def say(text: str, style: str = "") -> None:
    """One line for a person, made safe. Where it cannot be written, there is nobody to tell."""
    with suppress(OSError):
        err().print(visible(text), style=style or None, soft_wrap=True)


def data(value: Any) -> None:
    """JSON to standard output: redacted, and nothing in it can control a terminal or hide there.

    Raises OutputLost.
    """
    few = not (sys.stdout.encoding or "").lower().startswith("utf")
    with written():
        sys.stdout.write(spelled(value, ascii_only=few) + "\n")
        sys.stdout.flush()


def answer(value: Any, text: str, as_json: bool) -> None:
    """The outcome of a command: its data, or one line for a person."""
    if not as_json:
        say(text)
        return
    with done(text):
        data(value)


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
