"""The few settings of a profile's browser that are ours."""

from __future__ import annotations

from pathlib import Path

from worker.profiles import files

DENIED = 2


def deny_background_sync(path: Path) -> None:
    """Let no page queue requests for later: the profile's next browser would send them, past every lock.

    Changes only that setting, and nothing when it is there. Torn preferences are left to who mends them.
    """
    try:
        preferences = files.read_json(path) or {}
    except ValueError:
        return
    defaults = preferences.setdefault("profile", {}).setdefault("default_content_setting_values", {})
    if defaults.get("background_sync") == DENIED:
        return
    defaults["background_sync"] = DENIED
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    files.replace_json(path, preferences)
