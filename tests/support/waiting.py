"""Waiting for a condition, with a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable

PACE_S = 0.01
LONG_S = 60.0
"""Far longer than anything takes that a test waits for, since machines stall; waiting for what comes costs nothing."""


def until(condition: Callable[[], object], what: str, deadline_s: float = LONG_S) -> None:
    """Return as soon as `condition()` is true; AssertionError naming `what` after `deadline_s`."""
    end = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < end, f"waited {deadline_s} s for: {what}"
        time.sleep(PACE_S)
