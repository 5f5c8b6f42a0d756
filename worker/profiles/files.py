"""Small private files that are replaced as a whole."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path
from typing import Any


def replace_json(path: Path, content: Any) -> None:
    """Replace the file atomically and durably, for its owner's eyes: after a crash it is the old or the new
    one.
    """
    new = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(content, file, separators=(",", ":"))
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
    sync_directory(path.parent)


def read_json(path: Path) -> Any:
    """The file's content; None when there is none. Raises ValueError on a torn one."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def sync_directory(path: Path) -> None:
    """Make renames in the directory durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
