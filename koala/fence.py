"""The fence: (epoch, counter), written `epoch.counter`, compared in that order everywhere."""

from __future__ import annotations

import re
from typing import NamedTuple

PATTERN = re.compile(r"([0-9]+)\.([0-9]+)")


class Fence(NamedTuple):
    """The number of one lease. It only grows and is never used twice, also not across a restore."""

    epoch: int
    counter: int

    @classmethod
    def parse(cls, text: str) -> Fence:
        """Read `epoch.counter`; ValueError when it is not one."""
        found = PATTERN.fullmatch(text)
        if not found:
            raise ValueError(f"{text!r} is not a fence")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.epoch}.{self.counter}"
