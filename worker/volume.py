"""The data volume: its mark tells an empty directory mounted by mistake from the volume that was meant."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koala.errors import VolumeError

MARK = ".koala-volume"
FOLDERS = ("profiles", "locks", "artifacts", "tmp")
MACHINE_ID = Path("/etc/machine-id")

GONE_WITH_THE_MOUNT = frozenset(["tmpfs", "ramfs", "devtmpfs"])
NETWORK = frozenset(["nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "virtiofs", "ceph", "glusterfs", "afs", "lustre"])
UNFIT = GONE_WITH_THE_MOUNT | NETWORK
"""File systems whose locks prove nothing: gone with the mount, or not shared with the other machine."""


@dataclass(frozen=True)
class Volume:
    """A checked data directory. `mark` names the volume; `machine` names this machine together with it."""

    path: Path
    mark: str
    machine: str

    @property
    def locks(self) -> Path:
        return self.path / "locks"

    @property
    def profiles(self) -> Path:
        return self.path / "profiles"

    @property
    def artifacts(self) -> Path:
        return self.path / "artifacts"

    @property
    def tmp(self) -> Path:
        return self.path / "tmp"


@contextmanager
def _usable(path: Path) -> Iterator[None]:
    """Inside, what the machine refuses becomes a VolumeError that names it."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename and str(error.filename) != str(path) else ""
        raise VolumeError(
            f"{path} cannot be the data directory: {error.strerror}{where}. "
            "Name one in KOALA_DATA that this user may make and write"
        ) from None


def create(path: Path) -> Volume:
    """Open the volume at `path`, giving an empty or new directory its mark first. Idempotent, also in a race.

    Raises VolumeError: the directory holds data but no mark, locks on its file system prove nothing, or this machine
    does not let us.
    """
    with _usable(path):
        path.mkdir(parents=True, exist_ok=True)
        refuse_unfit(path)
        if not (path / MARK).exists():
            _give_mark(path)
    return open_volume(path)


def open_or_make(path: Path) -> Volume:
    """The volume at `path`, made when nothing is there yet; whole at once: a second start sees none or all of it.

    Raises VolumeError: what is there has no mark, as an empty directory that was mounted by mistake.
    """
    if not os.path.lexists(path):
        new = path.parent / f".{path.name}.{uuid.uuid4().hex}"
        try:
            create(new)
        except VolumeError as error:
            raise VolumeError(str(error).replace(str(new), str(path))) from None  # the other name is nobody's
        try:
            new.rename(path)
        except OSError:  # somebody was faster: then theirs is the volume
            shutil.rmtree(new)
    return open_volume(path)


def open_volume(path: Path) -> Volume:
    """The volume at `path`, never creating one.

    Raises VolumeError when the mark is missing or damaged, and when it cannot be written, as a disk that is mounted
    read-only.
    """
    with _usable(path):
        refuse_unfit(path)
        mark = _read_mark(path)
        for folder in FOLDERS:
            (path / folder).mkdir(mode=0o700, exist_ok=True)
        refuse_unfit(path / "locks")
    if not os.access(path, os.W_OK | os.X_OK):
        raise VolumeError(f"{path} cannot be written: give it to uid {os.getuid()}, and mount it writable")
    return Volume(path, mark, _machine(mark))


def refuse_unfit(path: Path) -> None:
    """Raise VolumeError when locks on the file system of `path` would prove nothing."""
    kind = filesystem(path)
    if kind in UNFIT or kind.startswith("fuse"):
        raise VolumeError(
            f"{path} is on {kind}: its file locks do not prove that a process is gone. "
            "Put the data directory on a local disk (ext4, xfs, btrfs, overlay)."
        )


def filesystem(path: Path) -> str:
    """The kind of file system that `path` is on, as the kernel names it."""
    where = path.resolve()
    best, kind = -1, "unknown"
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        left, _, right = line.partition(" - ")
        mount = Path(_unescape(left.split()[4]))
        if where.is_relative_to(mount) and len(mount.parts) >= best:
            best, kind = len(mount.parts), right.split()[0]
    return kind


def _unescape(field: str) -> str:
    for code, character in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        field = field.replace(code, character)
    return field


def _give_mark(path: Path) -> None:
    data = [entry.name for entry in path.iterdir() if entry.name in FOLDERS and any(entry.iterdir())]
    if data:
        raise VolumeError(f"{path} holds {', '.join(sorted(data))} but no {MARK}: restore it from a backup")
    text = json.dumps({"volume": uuid.uuid4().hex, "machine": _machine_id()})
    new = path / f"{MARK}.{uuid.uuid4().hex}"
    with new.open("x", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(new, path / MARK)  # fails when somebody was faster: then theirs is the mark
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _read_mark(path: Path) -> str:
    try:
        return str(json.loads((path / MARK).read_text(encoding="utf-8"))["volume"])
    except FileNotFoundError:
        raise VolumeError(
            f"{path} has no {MARK}: an empty directory is mounted where the data volume should be. "
            "If it is a new volume, give it its mark once: python -m worker init"
        ) from None
    except (ValueError, KeyError, TypeError) as error:
        raise VolumeError(f"{path / MARK} is damaged ({error}): restore it from a backup") from None


def _machine_id() -> str:
    try:
        return MACHINE_ID.read_text().strip()
    except OSError:
        return ""


def _machine(mark: str) -> str:
    # Images bake one machine id into many machines, slim ones have none. A local volume is on one machine.
    return hashlib.sha256(f"{_machine_id()} {mark}".encode()).hexdigest()[:32]
