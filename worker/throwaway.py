"""Profiles of canaries: removed with all that is in them, under their lease and lock like any other."""

from __future__ import annotations

import secrets

from koala import canary, holds
from koala.fence import Fence
from koala.leases import Lease, Terms
from koala.store import Store
from worker import locks, profiles
from worker.locks import LockHeld
from worker.volume import Volume


def remove(store: Store, where: Volume, name: str, who: str, terms: Terms) -> bool:
    """Remove one, its record and its lock file too; False while somebody has it. Blocking; may be repeated."""
    lease = holds.take(store, name, who, secrets.token_hex(16), terms)
    if not isinstance(lease, Lease):
        return False
    try:
        return _removed(where, name, Fence.parse(lease.fence))
    finally:
        holds.drop(store, lease, forget=name)


def _removed(where: Volume, name: str, fence: Fence) -> bool:
    directory = profiles.ProfileDirectory(where, name)
    if directory.path.exists():
        locks.create(where, directory.lock)
        try:
            with locks.take(where, directory.lock, "deleting", fence) as held:
                directory.delete(held)
        except LockHeld:
            return False
    locks.remove_free(where, directory.lock)  # its name is never used again: there is no fence to remember
    return True


def sweep(store: Store, where: Volume, who: str, terms: Terms) -> int:
    """Remove those that killed workers left behind; how many. One that a canary has now stays."""
    left = [profile.name for profile in profiles.every(where) if profile.name.startswith(canary.PROFILES)]
    return sum(remove(store, where, name, who, terms) for name in left)
