"""The health file: whoever starts a program sees by its age, without starting anything, whether it is well.

The file's time of change is the program's last healthy moment (the year 1970 before the first), written anew at least
every two seconds while it is well. Older than `STALE_S` is unhealthy. What it says, as JSON, is always new: `why` is
empty, or what is wrong now.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from koala.clock import wall_ms
from koala.errors import SettingsError
from koala.exits import Exit
from koala.logs import log

STALE_S = 15
"""The age from which the health file is one of an unhealthy program."""


class HealthFile:
    """A program's own health file; without a path nothing is written."""

    def __init__(self, path: Path | None, program: str) -> None:
        """Begin as not well yet. Raises SettingsError when the file cannot be written at all."""
        self._path = path
        self._program = program
        self._well_at = 0.0
        self._failing = False
        try:
            self._write("it has only begun", {})
        except OSError as error:
            raise SettingsError(
                f"KOALA_HEALTH: {path} cannot be written ({error.strerror}): name a file in a writable directory, "
                "such as /tmp/koala-health"
            ) from None

    def tell(self, why: str = "", **facts: Any) -> None:
        """Say how the program is: well when `why` is empty. What cannot be written is logged once."""
        if not why:
            self._well_at = time.time()
        try:
            self._write(why, facts)
            self._failing = False
        except OSError as error:
            if not self._failing:
                log().error("health_not_written", error=str(error))
            self._failing = True

    def remove(self) -> None:
        """The program ends."""
        if self._path:
            self._path.unlink(missing_ok=True)

    def _write(self, why: str, facts: dict[str, Any]) -> None:
        """Replace the file at once: a reader sees the old or the new one."""
        if self._path is None:
            return
        new = self._path.with_name(f".{self._path.name}.{os.getpid()}")
        new.write_text(json.dumps({"program": self._program, "at_ms": wall_ms(), "why": why, **facts}), "utf-8")
        os.utime(new, (self._well_at, self._well_at))
        new.replace(self._path)


def told() -> Exit:
    """Print how the program of this container is, by its health file; 1 when it is not well."""
    path = os.environ.get("KOALA_HEALTH")  # the settings may be what is wrong
    why = look(Path(path) if path else None)
    sys.stdout.write(f"{why or 'it is well'}\n")
    return Exit.FAILED if why else Exit.OK


def look(path: Path | None) -> str:
    """Why the program of this health file is not well; empty when it is."""
    if path is None:
        return "KOALA_HEALTH is not set, so nobody can tell"
    try:
        age = time.time() - path.stat().st_mtime
        why = json.loads(path.read_text("utf-8"))["why"]
    except FileNotFoundError:
        return f"there is no {path}: the program does not run"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"{path} cannot be read: {error}"
    if age < STALE_S:
        return ""
    since = "ever" if age > time.time() - 1 else f"for {age:.0f} s"
    return f"it has not been well {since}: {why or 'it has stopped saying how it is'}"
