"""Profiles of a backup, put in the place of what is there.

All are unpacked and compared with their digests before the first is touched. Each takes its place under its lock; what
was there is kept aside, below `kept/`. Killed in the middle, the same restore again goes on. Profiles that the backup
does not have stay as they are.
"""

from __future__ import annotations

import json
import shutil
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from koala import names
from koala.errors import KoalaError
from koala.exits import Exit
from worker import locks
from worker.commands.backup import tree
from worker.commands.backup.profiles import FOLDER, LIST
from worker.profiles import ProfileDirectory, files
from worker.volume import Volume

KEPT = "kept"


class BackupDamaged(KoalaError):
    """The backup is not complete, or was changed since it was made. Nothing of the pool has been touched."""

    code, exit = "backup_damaged", Exit.REFUSED


def put(where: Volume, tar: BinaryIO, restore_id: str) -> Iterator[str]:
    """Put them in place, telling of each. Raises BackupDamaged, LockHeld, OSError."""
    names.check("restore", restore_id)
    room = where.tmp / f"restore-{restore_id}"
    shutil.rmtree(room, ignore_errors=True)
    room.mkdir(mode=0o700)
    try:
        listed = _unpack(tar, room)
        aside = _private(where.path / KEPT) / restore_id
        for kept in listed:
            if kept["state"] == "missing":
                yield f"profile {kept['name']} is not in the backup: it stays as it is"
                continue
            yield _place(where, ProfileDirectory(where, kept["name"]), room / FOLDER / kept["name"], aside)
    finally:
        shutil.rmtree(room, ignore_errors=True)


def _unpack(tar: BinaryIO, room: Path) -> list[dict[str, Any]]:
    try:
        with tarfile.open(fileobj=tar, mode="r|") as archive:
            for member in archive:
                if not (member.isfile() or member.isdir()):
                    raise BackupDamaged(f"the backup holds {member.name}, which is neither a file nor a directory")
                archive.extract(member, room, filter="tar")
        listed: list[dict[str, Any]] = json.loads((room / LIST).read_text("utf-8"))
    except (tarfile.TarError, EOFError, FileNotFoundError, ValueError) as error:
        raise BackupDamaged(f"the tar of the profiles is not complete ({error}): take another backup") from None
    for kept in listed:
        names.check("profile", kept["name"])
        if kept["state"] != "missing" and _digest(room / FOLDER / kept["name"]) != kept["sha256"]:
            raise BackupDamaged(f"profile {kept['name']} is not as it was backed up: take another backup")
    return listed


def _digest(path: Path) -> str:
    return tree.digest(path).sha256 if path.is_dir() else ""


def _place(where: Volume, directory: ProfileDirectory, new: Path, aside: Path) -> str:
    """One profile, under its lock, by two renames: between them it is nowhere; the same restore again mends that."""
    locks.create(where, directory.lock)
    old = aside / directory.name
    with locks.take(where, directory.lock, "restoring", locks.highest_fence(where, directory.lock)):
        if directory.path.exists() and not old.exists():
            _private(aside)
            directory.path.rename(old)
        elif directory.path.exists():  # of this same restore, killed before: the one that was there is aside already
            shutil.rmtree(directory.path)
        new.rename(directory.path)
        files.sync_directory(where.profiles)
    return f"profile {directory.name} is restored{f'; what was there is in {old}' if old.exists() else ''}"


def _private(folder: Path) -> Path:
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder
