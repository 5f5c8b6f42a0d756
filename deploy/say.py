"""How the tool speaks: what was asked for on standard output, progress and problems on standard error."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from deploy.problem import Problem


def out(text: str = "") -> None:
    """A line of the answer."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """A line of progress."""
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def problem(found: Problem) -> None:
    """A problem and what to do."""
    say(f"error: {found}")
    if found.advice:
        say(f"   do: {found.advice}")


class Progress:
    """Says a line only when it differs from the one before."""

    def __init__(self) -> None:
        self._last = ""

    def __call__(self, text: str) -> None:
        if text != self._last:
            self._last = text
            say(text)


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines with aligned columns; empty for no rows."""
    if not rows:
        return []
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
