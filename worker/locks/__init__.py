"""Kernel locks of attempts, drivers and browsers: a lock is free when its holder is gone, and never stale.

K is the child's lock of one attempt, D a driver's of its life, B a browser's: the profile's own lock, or
one of its life for a browser without a profile. All are files in the volume's `locks/`, with the volume's
mark inside. Nothing here waits for a holder: a lock is taken at once or refused with its holder's name.
"""

from worker.locks.errors import LockDamaged, LockHeld, LockMissing, LowerFence
from worker.locks.held import HeldLock
from worker.locks.holder import Holder
from worker.locks.paths import browser_path, child_path, driver_path, profile_path
from worker.locks.proof import Alive, Gone, Unproved, prove_gone, still_there
from worker.locks.tidy import remove_free, sweep
from worker.locks.use import create, highest_anywhere, highest_fence, read, take

__all__ = [
    "Alive",
    "Gone",
    "HeldLock",
    "Holder",
    "LockDamaged",
    "LockHeld",
    "LockMissing",
    "LowerFence",
    "Unproved",
    "browser_path",
    "child_path",
    "create",
    "driver_path",
    "highest_anywhere",
    "highest_fence",
    "profile_path",
    "prove_gone",
    "read",
    "remove_free",
    "still_there",
    "sweep",
    "take",
]
