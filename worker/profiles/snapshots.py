"""Copies of a profile's login-relevant files: the last good ones, and one before each newer major version.

Caches, history and the like are left out: a restored profile is logged in, not complete.
"""

from __future__ import annotations

import shutil
import time
import uuid
from pathlib import Path

from worker.profiles import databases, files

KEPT = 2
"""Good snapshots kept: the second serves when the newest did not reach the disk before a power cut."""

TOP = ("Local State", "Last Version")
DEFAULT = (
    *databases.SQLITE,
    *(name + suffix for name in databases.SQLITE for suffix in ("-journal", "-wal", "-shm")),
    "Local Storage",
    "IndexedDB",
    "Preferences",
    "Secure Preferences",
)
SIDE = "session-cookies.json"
COMPLETE = "complete.json"


class Snapshots:
    """The snapshots of one profile. Only for whoever holds its lock, with no browser on it."""

    def __init__(self, profile: Path) -> None:
        self._profile = profile
        self._path = profile / "snapshots"

    def keep_good(self, major: int) -> Path:
        """Copy the files of a cleanly closed profile; good copies beyond KEPT go. Atomic: it is there whole
        or not.
        """
        made = self._copy(f"good-{time.time_ns():020d}", major)
        for old in self._good()[KEPT:]:
            shutil.rmtree(old)
        return made

    def keep_before_upgrade(self, old_major: int) -> Path:
        """Copy the files as `old_major` left them, before a newer version opens them for the first time."""
        kept = self._path / f"major-{old_major}"
        if kept.exists():
            shutil.rmtree(kept)  # of an earlier upgrade that was rolled back: what is there now is newer
        return self._copy(kept.name, old_major)

    def last_good(self, major: int | None = None) -> Path | None:
        """The newest good copy whose databases are whole, left by a version up to `major` where one is given.

        None when there is none.
        """
        fitting = (path for path in self._good() if major is None or _major(path) <= major)
        return next((path for path in fitting if not databases.torn(path / "user-data" / "Default")), None)

    def for_major(self, major: int) -> Path | None:
        """The newest copy that a version up to `major` left; None when there is none."""
        copies = {int(p.name.removeprefix("major-")): p for p in self._path.glob("major-*")}
        fitting = [number for number, path in copies.items() if number <= major and (path / COMPLETE).exists()]
        return copies[max(fitting)] if fitting else None

    def restore(self, snapshot: Path, damaged: Path) -> None:
        """Put a copy in the place of the profile's files; those move to `damaged`, in place of older ones."""
        if damaged.exists():
            shutil.rmtree(damaged)
        _move(self._profile, damaged)
        _copy(snapshot, self._profile)

    def _good(self) -> list[Path]:
        return sorted((p for p in self._path.glob("good-*") if (p / COMPLETE).exists()), reverse=True)

    def _copy(self, name: str, major: int) -> Path:
        self._path.mkdir(mode=0o700, exist_ok=True)
        for unfinished in self._path.glob(".new-*"):
            shutil.rmtree(unfinished)
        new = self._path / f".new-{uuid.uuid4().hex}"
        new.mkdir(mode=0o700)
        _copy(self._profile, new)
        files.replace_json(new / COMPLETE, {"major": major})
        return new.rename(self._path / name)


def _major(copy: Path) -> int:
    """The version that left a complete copy; 0 where it was not noted."""
    return int((files.read_json(copy / COMPLETE) or {}).get("major") or 0)


def _relevant(root: Path) -> list[Path]:
    names = [f"user-data/{n}" for n in TOP] + [f"user-data/Default/{n}" for n in DEFAULT] + [SIDE]
    return [root / name for name in names if (root / name).exists()]


def _copy(source: Path, target: Path) -> None:
    for path in _relevant(source):
        there = target / path.relative_to(source)
        there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if path.is_dir():
            shutil.copytree(path, there, dirs_exist_ok=True)
        else:
            shutil.copy2(path, there)


def _move(source: Path, target: Path) -> None:
    for path in _relevant(source):
        there = target / path.relative_to(source)
        there.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.rename(there)
