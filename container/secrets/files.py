"""Secret files: whether one is as its reader needs it, and writing one so that nobody ever sees half of it."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

MODE = 0o400
PART = ".part-"
"""How the name of a file begins that is being written."""


def _uid(user: str, inside: int) -> int:
    """A user's id: that inside the images, or the one that whoever installs without them has given."""
    return int(os.environ.get(f"KOALA_UID_{user}", inside))


KOALA, REDIS, GRAFANA = _uid("KOALA", 10001), _uid("REDIS", 999), _uid("GRAFANA", 472)

READERS = {
    "worker": KOALA,
    "scheduler": KOALA,
    "operator": KOALA,
    "exporter": KOALA,
    "gateway": KOALA,
    "console": KOALA,
    "redis": REDIS,
    "grafana": GRAFANA,
}
"""Each reader's directory, and the user id to which its files belong."""


def problem(path: Path, owner: int, *, value: bool = True) -> str:
    """What is wrong with a secret file and what to do; empty when nothing is. Its value is in no answer.

    `value`: the file is a value and nothing else, so that a newline would be part of it.
    """
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode):
        return "is no plain file: put the value itself there"
    text = path.read_bytes()
    if not text:
        return "is empty: `put` the value, or remove the file and have it made"
    if value and text.endswith(b"\n"):
        return "ends in a newline: write it again without one (`put` does)"
    if found.st_mode & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        return f"is open to others (mode {mode:04o}): change the value if anyone may have read it, then `mend`"
    if found.st_uid != owner:
        return f"belongs to uid {found.st_uid}, and its reader is uid {owner}: `mend`"
    return ""


def put(path: Path, value: bytes, owner: int) -> None:
    """Write a file, or replace it, for its reader alone. Atomic: another process sees all of it, or what was there."""
    part = path.with_name(f"{PART}{path.name}-{secrets.token_hex(4)}")
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, MODE)
    try:
        with os.fdopen(descriptor, "wb") as file:
            os.fchown(file.fileno(), owner, -1)
            os.fchmod(file.fileno(), MODE)
            file.write(value)
            file.flush()
            os.fsync(file.fileno())
        part.rename(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def mend(path: Path, owner: int) -> bool:
    """Give a file the owner and mode that its reader needs; whether anything had to change. The value stays."""
    found = path.lstat()
    if not stat.S_ISREG(found.st_mode) or (found.st_uid == owner and stat.S_IMODE(found.st_mode) == MODE):
        return False
    os.chown(path, owner, -1, follow_symlinks=False)
    path.chmod(MODE)
    return True


def folder(path: Path) -> None:
    """A reader's directory. Its names may be seen, so that anyone can tell what is missing; only root writes there."""
    path.mkdir(mode=0o755, exist_ok=True)
    if path.is_symlink() or path.stat().st_mode & stat.S_IWOTH:
        raise PermissionError(f"{path.name} is a link or open to everyone: make it a directory that only root writes")
    for left in path.glob(f"{PART}*"):  # by a maker that was killed
        left.unlink()


def inside(root: Path) -> Iterator[tuple[Path, int]]:
    """Every secret file that is there, with the user it has to belong to."""
    for reader, owner in READERS.items():
        place = root / reader
        if place.is_dir():
            yield from ((path, owner) for path in sorted(place.iterdir()) if not path.name.startswith("."))


def _sync(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
