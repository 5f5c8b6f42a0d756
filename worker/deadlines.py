"""Deadlines that a parent keeps over its child, by the clock that also runs in suspend."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from koala.clock import boottime

TICK_S = 0.2


@dataclass
class Deadlines:
    """Named times until which something must be over. `passed` tells the first that is not."""

    until: dict[str, tuple[float, str]] = field(default_factory=dict)

    def give(self, name: str, what: str, seconds: float) -> None:
        """From now, `what` has this long."""
        self.until[name] = (boottime() + seconds, what)

    def give_at(self, name: str, what: str, at: float) -> None:
        """`what` has until the boot time `at`."""
        self.until[name] = (at, what)

    def clear(self, name: str) -> None:
        """It is over."""
        self.until.pop(name, None)

    def passed(self, *, but: frozenset[str] = frozenset()) -> tuple[str, str] | None:
        """Name and text of a deadline that has passed, None when all hold; those in `but` do not count."""
        now = boottime()
        for name, (at, what) in self.until.items():
            if now >= at and name not in but:
                return name, what
        return None

    async def watch(self, but_while_acting: frozenset[str], acting: set[str]) -> tuple[str, str]:
        """Return the first deadline that passes; some do not count while an effect is between gate and settlement."""
        while True:
            found = self.passed(but=but_while_acting if acting else frozenset())
            if found:
                return found
            await asyncio.sleep(TICK_S)
