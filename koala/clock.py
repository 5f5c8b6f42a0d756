"""Clocks: expiry is the store's, durations are `boottime`, which also runs in suspend, wall time is for people."""

import time
from datetime import UTC, datetime


def boottime() -> float:
    """Seconds since boot, suspend included (CLOCK_BOOTTIME). The same for every process of one machine."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def wall_ms() -> int:
    """Wall time in ms since 1970, for people and for due times given from outside."""
    return time.time_ns() // 1_000_000


def show(ms: int) -> str:
    """A stored time (ms since 1970, UTC) as a person reads it."""
    return datetime.fromtimestamp(ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S")
