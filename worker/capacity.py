"""Whether the slots fit into what the container allows; looked at before any of them starts."""

from __future__ import annotations

import resource
from pathlib import Path

from koala.errors import SettingsError
from koala.logs import log
from koala.settings import Settings
from worker import cgroup

MEBI = 1024**2
FILES_A_BROWSER = 800
"""Descriptors: one browser with ten plain tabs had 753."""
PROCESSES_A_SLOT = 300
"""Processes and threads: the same browser had 210, driver and child come on top."""


def check(settings: Settings, root: Path = cgroup.ROOT) -> None:
    """Warn of limits that are small. Raises SettingsError, with the sum, when the slots' memory does not fit."""
    limit = cgroup.memory_limit(root)
    if limit is not None and needed(settings) > limit:
        raise SettingsError(_refusal(settings, limit))
    for name, found, need in _small(settings, root):
        log().warning("limit_is_small", limit=name, allowed=found, needed=need)


def needed(settings: Settings) -> int:
    """Bytes that the worker and all its slots may need at a time."""
    return settings.slots * settings.slot_bytes + settings.worker_bytes


def fits(settings: Settings, limit: int) -> int:
    """How many slots fit into so many bytes; 0 when not even one does."""
    return max(0, limit - settings.worker_bytes) // settings.slot_bytes if settings.slot_bytes else settings.slots


def _refusal(settings: Settings, limit: int) -> str:
    slots, most = settings.slots, fits(settings, limit)
    total = f"{slots} x {_mebi(settings.slot_bytes)} + {_mebi(settings.worker_bytes)} = {_mebi(needed(settings))} MiB"
    lower = f"set KOALA_SLOTS to {most}" if most else "none fits"
    return (
        f"the slots need more memory than there is: KOALA_SLOTS x KOALA_SLOT_BYTES + KOALA_WORKER_BYTES is {total}, "
        f"and the limit of this container is {_mebi(limit)} MiB: {lower}, or raise the limit (KOALA_WORKER_MEMORY)"
    )


def _small(settings: Settings, root: Path) -> list[tuple[str, int, int]]:
    """Limits below what the slots may need, each with what is allowed and what is needed."""
    files, processes = resource.getrlimit(resource.RLIMIT_NOFILE)[0], cgroup.process_limit(root)
    found = [
        ("nofile", files if files != resource.RLIM_INFINITY else None, FILES_A_BROWSER),
        ("pids", processes, settings.slots * PROCESSES_A_SLOT),
    ]
    return [(name, allowed, need) for name, allowed, need in found if allowed is not None and allowed < need]


def _mebi(number: int) -> int:
    return number // MEBI
