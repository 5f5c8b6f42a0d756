"""When a schedule is planned to run: pure, without a clock and without a store."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from itertools import islice, takewhile
from zoneinfo import ZoneInfo

from koala.schedules.cron import Cron
from koala.schedules.zones import first, wall

EXCLUDED_MOST = 50_000
EXCLUDED_MS = 10 * 366 * 86_400_000
"""So many excluded times in a row, or so long a time of them, end the search: what lies behind counts as never."""
COUNTED_MOST = 1000
"""So far is counted what is left out."""
SPAN_MS = 60_000


@dataclass(frozen=True)
class Calendar:
    """Planned times: those of `crons`, or one each `every_ms` since `anchor_ms`, or `at` alone.

    From `start_ms` to `end_ms`, both included (0: no end), without what is excluded: stretches from a moment to
    before another, and what a cron expression matches.
    """

    zone: ZoneInfo
    crons: tuple[Cron, ...] = ()
    every_ms: int = 0
    anchor_ms: int = 0
    at: tuple[int, ...] = ()
    start_ms: int = 0
    end_ms: int = 0
    stretches: tuple[tuple[int, int], ...] = ()
    except_crons: tuple[Cron, ...] = ()

    def moments(self, after: int) -> Iterator[int]:
        """Every planned time after that moment, ascending, each once."""
        at: int | None = max(after, self.start_ms - 1)
        excluded, since = 0, 0
        while at is not None:
            again: int | None = None
            for found in self._all(at):
                if self.end_ms and found > self.end_ms:
                    return
                until = self.excluded(found)
                if not until:
                    excluded = 0
                    yield found
                    continue
                excluded, since = excluded + 1, since if excluded else found
                if excluded > EXCLUDED_MOST or found > since + EXCLUDED_MS:
                    return
                if until > found:  # a long stretch is jumped over
                    again = until
                    break
            at = again

    def after(self, moment: int) -> int | None:
        """The next planned time after a moment; None when there is none any more."""
        return next(self.moments(moment), None)

    def first(self, low: int, high: int, most: int) -> list[int]:
        """The first planned times in (low, high], at most so many, ascending."""
        return list(islice(self._until(low, high), most))

    def last(self, low: int, high: int, most: int) -> list[int]:
        """The last planned times in (low, high], at most so many, ascending. Costs what it finds, not what it spans."""
        span = SPAN_MS
        while True:
            begin = max(low, high - span)
            found = list(self._until(begin, high))
            if len(found) >= most or begin == low:
                return found[-most:]
            span *= 4

    def count(self, low: int, high: int) -> int:
        """How many are in (low, high]; COUNTED_MOST stands for that many or more."""
        return len(self.first(low, high, COUNTED_MOST)) if low < high else 0

    def plans(self, moment: int) -> bool:
        """Whether this is a planned time."""
        return self.after(moment - 1) == moment

    def excluded(self, moment: int) -> int:
        """Up to when a time is excluded; 0 when it is not."""
        for low, high in self.stretches:
            if low <= moment < high:
                return high - 1
        shown = wall(moment, self.zone)
        found = [cron for cron in self.except_crons if cron.matches(shown)]
        if any(cron.whole_days for cron in found):
            midnight = datetime.combine(shown.date() + timedelta(days=1), time())
            return max(moment, first(midnight, self.zone) - 1)
        return moment if found else 0

    def _until(self, low: int, high: int) -> Iterator[int]:
        return takewhile(lambda at: at <= high, self.moments(low))

    def _all(self, after: int) -> Iterator[int]:
        """Without regard to its end and its exclusions."""
        return self._intervals(after) if self.every_ms else self._merged(after)

    def _merged(self, after: int) -> Iterator[int]:
        last = after
        for found in heapq.merge(*(cron.moments(after, self.zone) for cron in self.crons), sorted(self.at)):
            if found > last:
                yield found
                last = found

    def _intervals(self, after: int) -> Iterator[int]:
        at = after
        while True:
            at += self.every_ms - (at - self.anchor_ms) % self.every_ms
            yield at
