"""Removing lock files that nobody will ask about any more."""

from __future__ import annotations

import time
from collections.abc import Container
from pathlib import Path

from koala.errors import VolumeError
from worker.locks.errors import LockHeld
from worker.locks.paths import PASSING
from worker.locks.use import highest_fence, take
from worker.volume import Volume


def remove_free(where: Volume, path: Path) -> bool:
    """Remove a lock file that nobody holds; False when it is held or not there. A profile's lock keeps its fence: it
    goes only with a profile whose name is never used again.

    Only when no open `sent` names it: a missing lock file proves nothing, so that effect could never be
    settled.
    """
    try:
        held = take(where, path, "removing", highest_fence(where, path))
    except (LockHeld, VolumeError):
        return False
    return held.remove()


def sweep(where: Volume, keep: Container[str], older_than_seconds: float) -> list[str]:
    """Remove free lock files of attempts, drivers and throw-away browsers that have long been out of use.

    `keep` has the names that open `sent` records hold. Returns what was removed.
    """
    limit = time.time() - older_than_seconds
    old = [p for p in where.locks.iterdir() if p.name.startswith(PASSING) and p.stat().st_mtime < limit]
    return [path.name for path in old if path.name not in keep and remove_free(where, path)]
