"""Whether the databases that hold a profile's logins are whole. Only for whoever holds the profile's lock."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SQLITE = ("Cookies", "Network/Cookies", "Login Data", "Login Data For Account", "Web Data")
"""SQLite files below the browser's `Default/` that hold logins."""
LEVELDB = ("Local Storage/leveldb", "Session Storage")
JSON = ("Preferences",)
HEADER = b"SQLite format 3\x00"


def torn(default: Path) -> list[str]:
    """Names below `default` that are damaged; empty when all that exist are whole.

    Opens SQLite files for writing: that rolls back what a killed browser left half done, as the browser
    would.
    """
    return [name for name, damage in _damages(default) if damage]


def _damages(default: Path) -> Iterator[tuple[str, str]]:
    for name in SQLITE:
        yield name, _sqlite(default / name)
    for name in (*LEVELDB, *_indexed(default)):
        yield name, _leveldb(default / name)
    for name in JSON:
        yield name, _json(default / name)


def _indexed(default: Path) -> list[str]:
    return sorted(f"IndexedDB/{entry.name}" for entry in (default / "IndexedDB").glob("*.leveldb"))


def _sqlite(path: Path) -> str:
    if not path.exists():
        return ""
    with path.open("rb") as file:
        if file.read(len(HEADER)) != HEADER:
            return "not a database"  # an empty file too: opened as it is it would pass as an empty database
    try:
        with closing(sqlite3.connect(path, timeout=1)) as connection:
            answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()[0])
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if answer == "ok" else answer


def _leveldb(path: Path) -> str:
    if not path.is_dir() or not any(path.iterdir()):
        return ""
    try:
        manifest = (path / "CURRENT").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        return str(error)
    whole = manifest.startswith("MANIFEST-") and (path / manifest).is_file()
    return "" if whole else "its current manifest is missing"


def _json(path: Path) -> str:
    try:
        json.loads(path.read_bytes())
    except FileNotFoundError:
        return ""
    except ValueError as error:
        return str(error)
    return ""
