"""The data volume and the directories for temporary files: the right ones, writable, with room, and with real locks."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

from koala.errors import VolumeError
from koala.exits import Exit
from koala.fence import Fence
from koala.settings import Settings
from worker import locks, volume
from worker.browser.wrap import DRIVER, Wrap
from worker.commands.doctor.finding import Finding, fail, graded, ok, warn
from worker.volume import Volume

GIGA = 1024**3
SLOT_BYTES = GIGA // 4
"""What one browser keeps in temporary files, and what a profile grows by, at most in a normal day."""
LOCK_S = 10.0


def data(config: Settings) -> Iterator[Finding]:
    """The volume: its mark, its file system, room."""
    path = config.data
    if not path.exists():
        yield _to_be_made(path)
        return
    where = volume.open_volume(path)
    yield ok("volume", f"{path} on {volume.filesystem(path)}, volume {where.mark[:8]}")
    yield _writable("volume writable", where.tmp)
    yield from _room("volume", path, config.slots * SLOT_BYTES * 2)


def _to_be_made(path: Path) -> Finding:
    above = next(parent for parent in path.parents if parent.exists())
    if not os.access(above, os.W_OK):
        return fail(
            "volume",
            f"{path} is not there, and {above} is not ours to write",
            "make it, and give it to this user",
            Exit.VOLUME,
        )
    volume.refuse_unfit(above)
    return warn("volume", f"{path} is not there yet", "`python -m worker init` makes it; so does the first start")


def _writable(name: str, folder: Path) -> Finding:
    probe = folder / f".koala-doctor-{uuid.uuid4().hex}"
    try:
        with probe.open("xb") as file:
            file.write(b"x")
            os.fsync(file.fileno())
        probe.unlink()
    except OSError as error:
        return fail(name, f"{folder}: {error.strerror}", "give it to this user, and mount it writable", Exit.VOLUME)
    return ok(name, str(folder))


def _room(name: str, path: Path, wanted: int) -> Iterator[Finding]:
    free = shutil.disk_usage(path).free
    yield graded(
        f"{name} space",
        f"{free / GIGA:.1f} GB free, {wanted / GIGA:.1f} GB are good to have",
        f"make room below {path}: browsers and snapshots of profiles need it",
        fails=free < wanted / 4,
        warns=free < wanted,
        exit=Exit.VOLUME,
    )
    inodes = os.statvfs(path)
    if inodes.f_files:  # some file systems count none
        yield graded(
            f"{name} inodes",
            f"{inodes.f_favail} free",
            f"remove small files below {path}: a profile has thousands",
            fails=inodes.f_favail < 2_000,
            warns=inodes.f_favail < 50_000,
            exit=Exit.VOLUME,
        )


def temporary(config: Settings) -> Iterator[Finding]:
    """Where programs put temporary files, and a home directory, which Chromium wants to write into."""
    folder = Path(tempfile.gettempdir())
    yield _writable("tmp", folder)
    yield from _room("tmp", folder, config.slots * SLOT_BYTES)
    home = Path(os.environ.get("HOME") or "/")
    if not os.access(home, os.W_OK):
        yield warn("home", f"{home} is not writable", "set HOME to a writable directory: Chromium may die at its start")
    else:
        yield ok("home", f"{home} is writable")


def lock(config: Settings) -> Iterator[Finding]:
    """The kernel's lock on the volume keeps a second process out, and is free when its holder is killed."""
    base = config.data / "tmp" if (config.data / "tmp").is_dir() else Path(tempfile.gettempdir())
    try:
        with tempfile.TemporaryDirectory(prefix="koala-doctor-", dir=base, ignore_cleanup_errors=True) as folder:
            yield _proved(volume.create(Path(folder) / "volume"))
    except VolumeError as error:
        yield fail("lock", str(error), "", Exit.VOLUME)
    except OSError as error:
        yield fail(
            "lock", f"{base} takes no files: {error}", "make room on that disk, or make it writable", Exit.VOLUME
        )


def _proved(where: Volume) -> Finding:
    path = locks.create(where, where.locks / "driver-doctor")
    wrap = Wrap.of(where, Path("/bin/sleep"), os.getpid(), path, Fence(1, 1), where.tmp)
    holder = subprocess.Popen([DRIVER, "60"], env={**os.environ, **wrap.variables()}, stdin=subprocess.DEVNULL)
    try:
        held = _becomes(where, path, locks.Alive)
    finally:
        holder.kill()
        holder.wait()
    freed = _becomes(where, path, locks.Gone)
    if held and freed:
        return ok("lock", "a second process is kept out, and the lock is free once its holder is killed")
    fault = "does not keep a second process out" if not held else "is not free after its holder was killed"
    return fail("lock", f"the kernel's lock on {where.path} {fault}", "put the data on a local disk", Exit.VOLUME)


def _becomes(where: Volume, path: Path, state: type[object]) -> bool:
    deadline = time.monotonic() + LOCK_S
    while time.monotonic() < deadline:
        found = locks.prove_gone(where, path)
        named = not isinstance(found, locks.Alive) or found.holder is not None
        if isinstance(found, state) and named and (state is locks.Alive or _was_held(found)):
            return True
        time.sleep(0.02)
    return False


def _was_held(found: object) -> bool:
    return isinstance(found, locks.Gone) and found.holder is not None
