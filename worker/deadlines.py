"""Deadlines that a parent keeps over its child, by the clock that also runs in suspend."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import dataclass, field

from koala.clock import boottime

TICK_S = 0.2


@dataclass
class Deadlines:
    """Times until which something must be over, by kind and by what it is of. `passed` tells the first that is not."""

    until: dict[tuple[str, str], tuple[float, str]] = field(default_factory=dict)

    def give(self, kind: str, what: str, seconds: float, *, of: str = "") -> None:
        """From now, `what` has this long."""
        self.until[kind, of] = (boottime() + seconds, what)

    def clear(self, kind: str, *, of: str = "") -> None:
        """It is over."""
        self.until.pop((kind, of), None)

    def passed(self, *, but: frozenset[str] = frozenset()) -> tuple[str, str] | None:
        """Kind and text of a deadline that has passed, None when all hold; the kinds in `but` do not count."""
        now = boottime()
        for (kind, _), (at, what) in self.until.items():
            if now >= at and kind not in but:
                return kind, what
        return None

    async def watch(self, but_while_acting: frozenset[str], acting: Collection[str]) -> tuple[str, str]:
        """Return the first deadline that passes; some do not count while an effect is between gate and settlement."""
        while True:
            found = self.passed(but=but_while_acting if acting else frozenset())
            if found:
                return found
            await asyncio.sleep(TICK_S)
