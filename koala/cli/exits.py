"""`koala exits`: the exit codes, as the one table in `koala.exits` has them."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table

from koala.cli import options
from koala.cli.output import show
from koala.exits import INTERRUPTED, INTERRUPTED_MEANS, PERMANENT, Exit


def exits(as_json: options.Json = False) -> None:
    """List what every exit code means.

    Example: koala exits
    """
    rows = _rows()
    show(
        lambda: [{"code": code, "name": name, "meaning": text} for code, name, text in rows],
        lambda: _listed(rows),
        as_json,
    )


def _rows() -> list[tuple[int, str, str]]:
    rows = [(int(code), code.name.lower(), code.meaning.replace("`", "")) for code in Exit]
    return sorted([*rows, (INTERRUPTED, "interrupted", INTERRUPTED_MEANS)])


def _listed(rows: list[tuple[int, str, str]]) -> RenderableType:
    made = Table.grid(padding=(0, 2))
    for code, name, text in rows:
        made.add_row(str(code), name, text)
    permanent = [code for code, _, _ in rows if code in PERMANENT]
    return Group(
        made,
        f"\n{min(permanent)} to {max(permanent)}: a restart is of no use, a person has to change something.",
    )
