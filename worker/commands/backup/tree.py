"""A profile's files: what of them is worth keeping, and the one digest of a copy."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from koala.errors import KoalaError
from worker.profiles import ProfileDirectory, ProfileRecord, files, snapshots

CACHES = frozenset(
    [
        *("Cache", "Code Cache", "GPUCache", "DawnCache", "DawnGraphiteCache", "DawnWebGPUCache", "GraphiteDawnCache"),
        *("ShaderCache", "GrShaderCache", "component_crx_cache", "extensions_crx_cache", "Crashpad", "BrowserMetrics"),
    ]
)
"""Directories that Chromium fills again by itself."""
OWNERS = 0o700
"""Nobody else has any business with logins: rights beyond the owner's are not kept."""
ASIDE = frozenset(["damaged", "rolled-back"])
"""What was put aside in a profile, for a person to look at."""


def copy_closed(directory: ProfileDirectory, target: Path) -> None:
    """Copy a profile that nobody has open. Of its snapshots those that a restored one may need: the newest good one,
    when it was not closed cleanly, and the ones of older browser versions.
    """
    good = directory.snapshots.last_good() if _is_unclean(directory) else None
    names = {good.name} if good else set()

    def left_out(folder: str, entries: list[str]) -> set[str]:
        here = Path(folder)
        out = {name for name in entries if not _is_plain(here / name)}
        if here == directory.path:
            out |= ASIDE & set(entries)
        elif here == directory.path / "snapshots":
            out |= {name for name in entries if not name.startswith("major-")} - names
        elif here.is_relative_to(directory.user_data):
            out |= CACHES & set(entries)
        return out

    shutil.copytree(directory.path, target, ignore=left_out)


def _is_unclean(directory: ProfileDirectory) -> bool:
    try:
        return directory.record().state == "unclean"
    except KoalaError:  # its record is damaged: it is kept as it is
        return True


def copy_snapshot(directory: ProfileDirectory, snapshot: Path, target: Path) -> None:
    """Make a profile of a good snapshot: closed, as of then. FileNotFoundError when it is replaced meanwhile."""
    record = directory.record()
    major = (files.read_json(snapshot / snapshots.COMPLETE) or {}).get("major") or record.major
    shutil.copytree(snapshot, target, ignore=lambda _, names: {snapshots.COMPLETE} & set(names))
    target.chmod(0o700)
    ProfileRecord(record.created, "clean", record.binary, major).save(target / "profile.json")


def _is_plain(path: Path) -> bool:
    """A file or directory: not the links and sockets with which a browser marks that it runs."""
    mode = path.lstat().st_mode
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)


@dataclass(frozen=True)
class Seen:
    """A copy's digest and size."""

    sha256: str
    files: int
    bytes: int


def digest(root: Path) -> Seen:
    """Names, the owner's rights and the contents of everything below, in one order."""
    total, files, size = hashlib.sha256(), 0, 0
    for path in _below(root):
        mode = path.stat().st_mode
        total.update(f"{path.relative_to(root)}\0{mode & OWNERS:o}\0".encode(errors="surrogateescape"))
        if stat.S_ISREG(mode):
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
            files, size = files + 1, size + path.stat().st_size
    return Seen(total.hexdigest(), files, size)


def _below(root: Path) -> Iterator[Path]:
    yield root
    for folder, names, plain in os.walk(root):
        names.sort()
        yield from (Path(folder) / name for name in sorted([*names, *plain]))
