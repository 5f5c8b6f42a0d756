"""From the files of the programs into the store, each line once."""

from __future__ import annotations

import time
from pathlib import Path

from koala import keys
from koala.starts import diary
from koala.starts.diary import Page
from koala.starts.tally import Tally
from koala.store import Store

PROGRAMS = ("worker", "scheduler")
KEPT_S = 3600.0
"""A file that was set aside and copied is removed after so long."""


def copy(store: Store, directory: Path) -> int:
    """Copy what is new; how many lines that were. Safe beside another's: of two, one does it.

    Nothing in a directory that is not there. Raises what the store raises.
    """
    return sum(_copy(store, directory, program) for program in PROGRAMS)


def seen(store: Store) -> dict[str, Tally]:
    """What is known of the starts, by program; a program that never started is left out."""
    found = store.hash(keys.STARTS)
    return {program: Tally.parse(program, found[program]) for program in PROGRAMS if program in found}


def _copy(store: Store, directory: Path, program: str) -> int:
    before = str(store.client.hget(keys.STARTS, program) or "")
    tally = Tally.parse(program, before)
    try:
        pages = diary.pages(directory, program, tally.read)
    except OSError:
        return 0
    entries = [entry for page in pages for entry in page.entries]
    read = {page.id: page.upto for page in pages}
    if read != tally.read:
        tally.take(entries)
        tally.read = read
        if not store.run("starts", [keys.STARTS], program, before, tally.dump())["ok"]:
            return 0
    _tidy(pages)
    return len(entries)


def _tidy(pages: list[Page]) -> None:
    for page in pages:
        diary.set_aside(page)
        diary.remove_old(page, time.time() - KEPT_S)
