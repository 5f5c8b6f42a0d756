"""Watching the new image for a while after each batch."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from deploy import health, interrupt, watch
from deploy.health import Look, Rejected
from deploy.pool import Pool
from deploy.problem import PoolAway
from deploy.say import Progress, say

PACE_S = 2.0


@dataclass
class Watching:
    """The old image's record beside the new one's, from the start of the roll-out on."""

    pool: Pool
    old: str
    new: str
    look: Look
    """The containers of the new image."""
    _before: dict[str, dict[str, int]] = field(default_factory=dict)

    def begin(self) -> None:
        """Take the counts of now as those of the start. Raises PoolAway."""
        self._before = self.pool.sight().counts

    def window(self, seconds: float) -> None:
        """Watch so long. Raises Rejected when the new image is worse, PoolAway when the pool is silent at the end."""
        say(f"watches koala {self.new} for {seconds:.0f} s")
        end, progress = time.monotonic() + seconds, Progress()
        while True:
            over = time.monotonic() >= end
            self._look(progress, last=over)
            if over:
                return
            interrupt.sleep(min(PACE_S, max(0.0, end - time.monotonic())))

    def _look(self, progress: Progress, *, last: bool) -> None:
        if why := health.fault(self.look()):
            raise Rejected(why)
        try:
            counts = self.pool.sight().counts
        except PoolAway as error:
            if last:
                raise
            progress(str(error))
            return
        of = counts.get(self.new, {}), self._before.get(self.new, {})
        if why := watch.verdict(counts.get(self.old, {}), self._before.get(self.old, {}), *of):
            raise Rejected(why)
        ended = watch.tally(watch.since(*of), ())
        progress(f"{ended.ended} attempts have ended with it")
