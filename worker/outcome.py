"""What an attempt's ending means for its task: the outcome that is written, with its details, and what died."""

from __future__ import annotations

import random
from typing import Any

from koala.counts import Crash, crash
from koala.endings import DISK_FULL
from koala.settings import Settings
from worker.link import Message

POOL_FAULTS = frozenset({"browser_failed", "browser_hung"})
NOT_HERE = frozenset(
    [
        "browser_missing",
        "profile_newer",
        "profile_binary",
        "profile_damaged",
        "volume",
        "lock_missing",
        "lock_damaged",
        DISK_FULL,
    ]
)
"""Faults of this machine or profile, which no further attempt mends: the task waits and says why."""
NOT_HERE_WAIT_S = 30.0
NOT_STARTED = "browser_not_started"
"""Nothing of the task has happened then: it costs nothing, and is tried again by whoever has a browser."""
NOT_STARTED_WAIT_S = 5.0
UNFIT = "browsers_unfit"
"""Something died under the task, and would have without it: browsers do not come up here. That costs it nothing."""
KEPT = ("reason", "result", "error", "question", "wait", "final")


def broke_the_browser(ending: Message) -> bool:
    """Whether the browser is not to be trusted any more, nor what it left."""
    return ending.get("code", "") in {*POOL_FAULTS, NOT_STARTED}


def outcome(ending: Message, settings: Settings, attempts: int) -> tuple[str, dict[str, Any]]:
    """The outcome and the details to release it with; `attempts` of the task have failed before."""
    result = ending["outcome"]
    details: dict[str, Any] = {name: ending[name] for name in KEPT if name in ending}
    code = ending.get("code", "")
    if code in POOL_FAULTS:
        result = "crashed"
    elif code in (NOT_STARTED, UNFIT):
        result, details["delay_ms"] = "parked", int(NOT_STARTED_WAIT_S * 1000)
    elif code in NOT_HERE or code == "lower_fence":
        result, details["delay_ms"] = "parked", int(NOT_HERE_WAIT_S * 1000)
    elif ending.get("wait"):
        details["delay_ms"] = int(settings.old_holder_wait_s * 1000)
        details["delay_most_ms"] = int(settings.old_holder_wait_most_s * 1000)
    elif result == "snoozed":
        details["delay_ms"] = int(max(0.0, ending["delay_s"]) * 1000)
    elif result == "failed":
        details["backoff_ms"] = _backoff_ms(settings, attempts)
    return result, {**details, "crash": _crash(ending, result)}


def _crash(ending: Message, result: str) -> Crash | None:
    """What died, or did not start; None when nothing did."""
    code = ending.get("code", "")
    if code == NOT_STARTED:
        return Crash.NO_BROWSER
    if result != "crashed" and code != UNFIT:
        return None
    return Crash.BROWSER if code in POOL_FAULTS else crash(ending.get("crash", ""))


def _backoff_ms(settings: Settings, attempts: int) -> int:
    longest = min(settings.backoff_most_s, settings.backoff_s * 2**attempts)
    return int(longest * random.uniform(0.5, 1.0) * 1000)  # noqa: S311 - spread, not secrecy
