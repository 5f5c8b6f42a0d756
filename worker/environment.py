"""What a child's environment holds: nothing with which it could reach the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STORE = ("KOALA_REDIS_URL", "KOALA_REDIS_USER", "KOALA_REDIS_PASSWORD", "KOALA_REDIS_PASSWORD_FILE")


PROXY = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
"""Programs and libraries look for these, some in small letters."""


def for_child(ours: Mapping[str, str], tmp: Path, proxy: str = "") -> dict[str, str]:
    """Our environment without the store's address and password, with a TMPDIR of the child's own.

    An author may print whatever a page says: what is no text is spelled out.
    With a `proxy`, HTTP clients go through that one only, whatever ours were told.
    """
    kept = {name: value for name, value in ours.items() if name not in STORE}
    return {**kept, **_through(proxy), "TMPDIR": str(tmp), "PYTHONIOENCODING": "utf-8:backslashreplace"}


def _through(proxy: str) -> dict[str, str]:
    """The variables that send every HTTP client to the proxy; none without one."""
    if not proxy:
        return {}
    told = {name: "" if name == "NO_PROXY" else proxy for name in PROXY}
    return told | {name.lower(): value for name, value in told.items()}
