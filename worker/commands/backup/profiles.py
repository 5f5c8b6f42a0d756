"""All profiles into one tar. Each is copied closed, under its lease and lock, or as its last good snapshot.

A task whose profile is being copied waits as for any other holder of the lease, and that costs it nothing.
"""

from __future__ import annotations

import errno
import json
import secrets
import shutil
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from koala import clock
from koala.errors import KoalaError, NotFound, Refused
from koala.span import span
from worker import locks, profiles
from worker.commands.backup import tree
from worker.commands.backup.lent import lent
from worker.commands.desk import Desk
from worker.locks import LockHeld
from worker.profiles import ProfileDamaged, ProfileDirectory

FOLDER = "profiles"
LIST = "profiles.json"
"""The last member of the tar: without it the tar is not complete."""
PACE_S = 0.5


class NoRoom(KoalaError):
    """A disk is full: nothing of the backup is kept."""

    code, retry = "no_room", True


@dataclass(frozen=True)
class Kept:
    """What is in the backup of one profile. `state`: closed, snapshot or missing; `why` when it is not closed."""

    name: str
    state: str
    at_ms: int
    sha256: str = ""
    files: int = 0
    bytes: int = 0
    why: str = ""

    def __str__(self) -> str:
        if self.state == "closed":
            return f"profile {self.name}: copied closed, {self.files} files, {self.bytes // 1024} KiB"
        if self.state == "missing":
            return f"profile {self.name} is NOT in this backup: it has no good snapshot yet, and {self.why}"
        old = span(clock.wall_ms() - self.at_ms)
        return f"profile {self.name}: its last good snapshot, {old} old, because {self.why}"


def write(desk: Desk, out: BinaryIO, wait_s: float) -> Iterator[Kept]:
    """Write the tar, telling of each profile as it is in; free ones first. Raises NoRoom, StoreAway.

    Copies lie in the volume's temporary directory for the time that one takes; afterwards nothing is left there.
    """
    deadline = time.monotonic() + wait_s
    with _room(desk) as room, tarfile.open(fileobj=out, mode="w|", format=tarfile.PAX_FORMAT) as tar:
        done: list[Kept] = []
        for kept in _each(desk, room, deadline):
            _add(tar, room / kept.name, kept.name)
            done.append(kept)
            yield kept
        text = json.dumps([asdict(kept) for kept in done]).encode()
        member = tarfile.TarInfo(LIST)
        member.size, member.mode = len(text), 0o600
        tar.addfile(member, BytesIO(text))


def _each(desk: Desk, room: Path, deadline: float) -> Iterator[Kept]:
    busy = dict.fromkeys(profiles.every(desk.volume), "")
    while busy:
        for directory in list(busy):
            found = _closed(desk, directory, room)
            if isinstance(found, Kept):
                del busy[directory]
                yield found
            else:
                busy[directory] = found
        if busy and time.monotonic() > deadline:
            break
        if busy:
            time.sleep(PACE_S)
    for directory, why in busy.items():
        yield _snapshot(directory, room, why)


def _closed(desk: Desk, directory: ProfileDirectory, room: Path) -> Kept | str:
    """The profile as it lies there, with nobody on it; or who has it."""
    try:
        with lent(desk, directory.name) as fence:
            locks.create(desk.volume, directory.lock)
            with locks.take(desk.volume, directory.lock, "backup", fence):
                now = clock.wall_ms()
                tree.copy_closed(directory, room / directory.name)
    except (Refused, LockHeld) as error:
        return str(error)
    return _kept(directory.name, "closed", now, room)


def _snapshot(directory: ProfileDirectory, room: Path, why: str) -> Kept:
    for _ in range(3):  # the newest may be replaced while it is copied
        good = directory.snapshots.last_good()
        if good is None:
            break
        try:
            tree.copy_snapshot(directory, good, room / directory.name)
        except (FileNotFoundError, shutil.Error):
            shutil.rmtree(room / directory.name, ignore_errors=True)
            continue
        except (NotFound, ProfileDamaged) as error:
            why = f"{error}, and {why}"
            break
        return _kept(directory.name, "snapshot", int(good.name.split("-")[1]) // 1_000_000, room, why)
    return Kept(directory.name, "missing", 0, why=why)


def _kept(name: str, state: str, at_ms: int, room: Path, why: str = "") -> Kept:
    seen = tree.digest(room / name)
    return Kept(name, state, at_ms, seen.sha256, seen.files, seen.bytes, why)


def _add(tar: tarfile.TarFile, path: Path, name: str) -> None:
    if path.exists():
        tar.add(path, f"{FOLDER}/{name}", filter=_private)
        shutil.rmtree(path)


def _private(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.mode &= tree.OWNERS
    member.uid = member.gid = 0  # whoever restores it owns it
    member.uname = member.gname = ""
    return member


@contextmanager
def _room(desk: Desk) -> Iterator[Path]:
    """A directory for the copies; gone at the end, however that comes, but for SIGKILL: then the next worker sweeps."""
    room = desk.volume.tmp / f"backup-{secrets.token_hex(6)}"
    room.mkdir(mode=0o700)
    try:
        yield room
    except (OSError, shutil.Error) as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT) and "No space left" not in str(error):
            raise
        raise NoRoom(f"the disk is full ({error}): make room there, and back up again; nothing was kept") from None
    finally:
        shutil.rmtree(room, ignore_errors=True)
