"""A run as it goes: each event of its timeline as a line on standard error."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from koala import timeline
from koala.cli.output import say
from koala.cli.story import sentence, style
from koala.cli.text import pretty
from koala.store import OUTAGE, Store
from koala.timeline import Event

PACE_S = 0.1


@dataclass
class Telling:
    """What was told so far of one task, from now on."""

    store: Store
    task_id: str
    rehearsed: list[dict[str, Any]] = field(default_factory=list)
    _last: str = "-"
    _began_ms: int = 0
    _turn: threading.Lock = field(default_factory=threading.Lock)  # the last telling may meet one that is under way

    def skip(self) -> None:
        """Leave out what happened in earlier runs."""
        for event in timeline.read(self.store, self.task_id):
            self._last = event.id

    def catch_up(self) -> None:
        """Tell what is new. Nothing while the store is away."""
        with self._turn, suppress(*OUTAGE):
            for event in timeline.read(self.store, self.task_id, self._last):
                self._last = event.id
                self._tell(event)

    def _tell(self, event: Event) -> None:
        self._began_ms = self._began_ms or event.at_ms
        at = f"{(event.at_ms - self._began_ms) / 1000:7.2f} s"
        if event.action != "effect_rehearsed":
            say(f"{at}  {sentence(event)}", style(event.action))
            return
        self.rehearsed.append(event.data)
        say(f"{at}  effect {event.data['operation']} would be done here, with:", "bold")
        for line in pretty(event.data["description"]).splitlines():
            say(f"{'':11}{line}")
        say(f"{'':11}confirm says now: {event.data['confirm']}")
        if event.data["approval"]:
            say(f"{'':11}a person would have to approve it first")

    @asynccontextmanager
    async def live(self) -> AsyncIterator[None]:
        """Tell inside as it happens."""
        telling = asyncio.ensure_future(self._follow())
        try:
            yield
        finally:
            telling.cancel()
            self.catch_up()

    async def _follow(self) -> None:
        while True:
            await asyncio.to_thread(self.catch_up)
            await asyncio.sleep(PACE_S)
