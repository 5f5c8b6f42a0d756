"""Profile directories on disk: their record, checks, snapshots and side files. No browser is started here."""

from worker.profiles.directory import (
    Preparation,
    ProfileBinary,
    ProfileDamaged,
    ProfileDirectory,
    ProfileNewer,
    create,
    every,
    find,
)
from worker.profiles.record import ProfileRecord

__all__ = [
    "Preparation",
    "ProfileBinary",
    "ProfileDamaged",
    "ProfileDirectory",
    "ProfileNewer",
    "ProfileRecord",
    "create",
    "every",
    "find",
]
