"""Whether the databases that hold a profile's logins are whole. Only for whoever holds the profile's lock.

A browser that is killed while it makes a database leaves an empty one or half of the scaffolding: that is new, not
torn. Torn is what once held something.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

SQLITE = ("Cookies", "Network/Cookies", "Login Data", "Login Data For Account", "Web Data")
"""SQLite files below the browser's `Default/` that hold logins."""
LOCAL_STORAGE = "Local Storage/leveldb"


def torn(default: Path, good: Path | None = None) -> list[str]:
    """Names below `default` that are damaged; empty when all that exist are whole.

    A file that is empty now is damaged when the copy `good` has more in it. Opens SQLite files for writing: that
    rolls back what a killed browser left half done, as the browser would.
    """
    return [name for name, whole in _looks(default, good) if not whole]


def _looks(default: Path, good: Path | None) -> Iterator[tuple[str, bool]]:
    for name in SQLITE:
        yield name, _sqlite_is_whole(default / name) and not _emptied(name, default, good)
    for name in (LOCAL_STORAGE, *_indexed(default)):
        yield name, _leveldb_is_whole(default / name)


def _indexed(default: Path) -> list[str]:
    return sorted(f"IndexedDB/{entry.name}" for entry in (default / "IndexedDB").glob("*.leveldb"))


def _sqlite_is_whole(path: Path) -> bool:
    if not path.exists():
        return True
    try:
        with closing(sqlite3.connect(path, timeout=1)) as connection:
            return bool(connection.execute("PRAGMA quick_check(1)").fetchone()[0] == "ok")
    except sqlite3.DatabaseError:
        return False


def _emptied(name: str, default: Path, good: Path | None) -> bool:
    # SQLite takes an empty file for an empty database, and a power cut leaves empty files.
    now = default / name
    return good is not None and now.exists() and _size(now) == 0 and _size(good / name) > 0


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _leveldb_is_whole(path: Path) -> bool:
    if not any(_size(file) for pattern in ("*.ldb", "*.log") for file in path.glob(pattern)):
        return True
    try:
        manifest = (path / "CURRENT").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return False
    return manifest.startswith("MANIFEST-") and _size(path / manifest) > 0
