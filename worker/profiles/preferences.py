"""The few settings of a profile's browser that are ours. Torn preferences are left to who mends them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from worker.profiles import files

DENIED = 2
ENDED = "SessionEnded"
"""What Chromium notes of an end that was neither its own nor a crash."""
NORMAL = "Normal"


def prepare(path: Path) -> None:
    """Make the preferences ours before a browser starts; nothing is written when they are.

    No page may queue requests for later: the profile's next browser would send them, past every lock. And the last
    end is noted as one that was neither normal nor a crash: Chromium keeps a crash on record until a person has seen
    it, also after closing well, and what says normal afterwards was written by the browser that starts now.
    """
    preferences = _read(path)
    if preferences is None:
        return
    profile = preferences.setdefault("profile", {})
    defaults = profile.setdefault("default_content_setting_values", {})
    if (defaults.get("background_sync"), profile.get("exit_type", ENDED)) == (DENIED, ENDED):
        return
    defaults["background_sync"], profile["exit_type"] = DENIED, ENDED
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.replace_json(path, preferences)


def ended_normally(path: Path) -> bool:
    """Whether Chromium itself noted a normal end since `prepare`: a crash during the close ends without any error."""
    return bool((_read(path) or {}).get("profile", {}).get("exit_type") == NORMAL)


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = files.read_json(path) or {}
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None
