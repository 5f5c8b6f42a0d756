"""What a profile knows about itself: the browser that made it, its last version, whether it was closed
cleanly.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from worker.profiles import files

State = Literal["new", "clean", "unclean"]


@dataclass(frozen=True)
class ProfileRecord:
    """profile.json. `new`: never opened. `unclean`: open now, or its last browser was not closed cleanly."""

    created: int
    """ms since 1970"""
    state: State = "new"
    binary: str | None = None
    """Real path of the browser that made it; None until the first open."""
    major: int | None = None
    """The Chromium major version that last opened it."""
    fence: str | None = None
    """Of the attempt that last opened it."""

    def save(self, path: Path) -> None:
        """Replace the record atomically."""
        files.replace_json(path, dataclasses.asdict(self))

    @classmethod
    def load(cls, path: Path) -> ProfileRecord | None:
        """The record; None when there is none. Raises ValueError on a damaged one."""
        content = files.read_json(path)
        if content is None:
            return None
        known = {field.name for field in dataclasses.fields(cls)}
        try:
            return cls(**{name: value for name, value in content.items() if name in known})
        except (TypeError, AttributeError) as error:
            raise ValueError(str(error)) from None
