"""Where each kind of lock lies."""

from __future__ import annotations

import uuid
from pathlib import Path

from koala import names
from koala.fence import Fence
from worker.volume import Volume

PASSING = ("child-", "driver-", "browser-")
"""Beginnings of the names of locks that are used for one life; a profile's lock stays for ever."""
LASTING = "profile-"


def child_path(where: Volume, fence: Fence) -> Path:
    """K: the lock of the child that runs the attempt of this fence."""
    return where.locks / f"child-{fence}"


def driver_path(where: Volume) -> Path:
    """D: a new lock for a driver's life."""
    return where.locks / f"driver-{uuid.uuid4().hex}"


def browser_path(where: Volume) -> Path:
    """B of a browser without a profile: a new lock for its life."""
    return where.locks / f"browser-{uuid.uuid4().hex}"


def profile_path(where: Volume, profile: str) -> Path:
    """B of a profile, for all its browsers. Raises InvalidName."""
    return where.locks / f"{LASTING}{names.check('profile', profile)}"
