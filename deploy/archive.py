"""A backup on disk: one directory with a manifest, whole or not there at all. It holds logins: for its owner's eyes."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy import pour
from deploy.exits import Exit
from deploy.problem import Problem

FORMAT = 1
MANIFEST = "manifest.json"
STORE = "store.rdb"
PROFILES = "profiles.tar"
LIST = "profiles.json"
PART = ".part"


@dataclass(frozen=True)
class Archive:
    """A complete backup: its directory and what its manifest says."""

    path: Path
    manifest: dict[str, Any]

    @property
    def store(self) -> Path:
        """The store's snapshot."""
        return self.path / STORE

    @property
    def profiles(self) -> Path:
        """The profiles."""
        return self.path / PROFILES

    @property
    def missing(self) -> list[str]:
        """Profiles that could not be backed up."""
        return [one["name"] for one in self.manifest["profiles"]["each"] if one["state"] == "missing"]


@contextmanager
def new(folder: Path, name: str) -> Iterator[Path]:
    """A directory to fill; it gets its name when all that is done inside has succeeded. Raises Problem.

    What an earlier one left behind that was killed is removed: only one command works on a pool at a time.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in folder.glob(f".koala-*{PART}"):
            shutil.rmtree(left)
        part = folder / f".{name}{PART}"
        part.mkdir(mode=0o700)
    except OSError as error:
        raise pour.full(error, folder / name) from None
    try:
        yield part
        _sync(part)
        part.rename(folder / name)
        _sync(folder)
    except OSError as error:
        raise pour.full(error, folder / name) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def write_manifest(folder: Path, manifest: dict[str, Any]) -> None:
    """Put it in, durable. Raises OSError."""
    with (folder / MANIFEST).open("x", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())


def listed(tar: Path) -> list[dict[str, Any]]:
    """What the tar says of its profiles. Raises Problem when it is cut short: the list comes last."""
    try:
        with tarfile.open(tar) as archive:
            last = archive.extractfile(LIST)
            found: list[dict[str, Any]] = json.load(last) if last else []
            return found
    except (tarfile.TarError, KeyError, EOFError, ValueError) as error:
        raise Problem(f"the profiles did not arrive whole ({error})", "back up again") from None


def read(path: Path) -> Archive:
    """The backup in a directory, compared with its digests. Raises Problem: it is none, or is not as it was made."""
    try:
        manifest = json.loads((path / MANIFEST).read_text("utf-8"))
        given = int(manifest["format"])
        parts = {name: manifest[part]["sha256"] for part, name in (("store", STORE), ("profiles", PROFILES))}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Problem(
            f"{path} is no backup of Koala's ({'it is not there' if not path.exists() else error})",
            "name the directory that `make backup` printed",
            Exit.USAGE,
        ) from None
    if given > FORMAT:
        raise Problem(f"{path} was made by a newer Koala", "restore it with that version", Exit.REFUSED)
    for name, digest in parts.items():
        if not (path / name).is_file() or pour.total(path / name).sha256 != digest:
            raise Problem(f"{path / name} is not as it was backed up", "restore another backup", Exit.REFUSED)
    return Archive(path, manifest)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
