"""What a child's environment holds: nothing with which it could reach the store."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

STORE = ("KOALA_REDIS_URL", "KOALA_REDIS_PASSWORD", "KOALA_REDIS_PASSWORD_FILE")


def for_child(ours: Mapping[str, str], tmp: Path) -> dict[str, str]:
    """Our environment without the store's address and password, with a TMPDIR of the child's own."""
    return {name: value for name, value in ours.items() if name not in STORE} | {"TMPDIR": str(tmp)}
