"""Cron expressions in a time zone, by the rules of Debian's cron.

cronsim reads the expression and walks the calendar of an unchanging clock; what a change of the clocks does to it is
decided here, for cronsim itself steps by whole hours and so loses times where clocks change by half of one.

- An expression that names its times (neither minute nor hour begins with `*`) runs once each: a time that does not
  exist runs at the end of the gap, a time that comes twice runs at the first.
- One that repeats (minute or hour begins with `*`) follows the clock: what does not exist does not run, what comes
  twice runs twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from koala.schedules.errors import InvalidSchedule
from koala.schedules.zones import at_offset, change, first, offset_ms, wall

SECOND = timedelta(seconds=1)
FIELDS = 5
SOME_DAY = datetime(2000, 1, 1)  # noqa: DTZ001 - a calendar without a zone
SHORT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True)
class Cron:
    """One expression of five fields. Made by `read`."""

    text: str

    @property
    def named(self) -> bool:
        """Whether it names its times, instead of repeating with the clock."""
        minute, hour = SHORT.get(self.text.lower(), self.text).split()[:2]
        return not minute.startswith("*") and not hour.startswith("*")

    @property
    def whole_days(self) -> bool:
        """Whether it means every minute of its days."""
        return self.text.split()[:2] == ["*", "*"]

    def moments(self, after: int, zone: ZoneInfo) -> Iterator[int]:
        """Every moment after that one, ascending; it ends where fifty years bring none."""
        return self._named(after, zone) if self.named else self._repeated(after, zone)

    def matches(self, shown: datetime) -> bool:
        """Whether a wall that shows this minute is meant."""
        minute = shown.replace(second=0, microsecond=0)
        return next(self._walk(minute - SECOND), None) == minute

    def _walk(self, after: datetime) -> Iterator[datetime]:
        return CronSim(SHORT.get(self.text.lower(), self.text), after)

    def _named(self, after: int, zone: ZoneInfo) -> Iterator[int]:
        """Two times of one gap come to the same moment, and are one."""
        last = after
        for shown in self._walk(wall(after, zone)):
            at = first(shown, zone)
            if at > last:
                yield at
                last = at

    def _repeated(self, after: int, zone: ZoneInfo) -> Iterator[int]:
        """Stretch by stretch of one offset: at each change of the clocks, walk on from what the wall shows then."""
        at, start = after, wall(after, zone)
        while True:
            offset, changed = offset_ms(at, zone), None
            for shown in self._walk(start):
                found = at_offset(shown, offset)
                changed = change(zone, at, found)
                if changed is not None:
                    break
                yield found
                at = found
            if changed is None:
                return
            at, start = changed, wall(changed, zone) - SECOND


def read(text: str) -> Cron:
    """An expression, checked. Raises InvalidSchedule."""
    given = " ".join(text.split())
    full = SHORT.get(given.lower(), given)
    if len(full.split()) != FIELDS:
        raise InvalidSchedule(
            f"cron {text!r} has {len(full.split())} fields instead of minute, hour, day, month and weekday"
            " (for seconds use `every`)"
        )
    try:
        never = next(CronSim(full, SOME_DAY), None) is None
    except CronSimError as error:
        raise InvalidSchedule(f"cron {text!r} is wrong: {str(error).lower()}") from None
    if never:
        raise InvalidSchedule(f"cron {text!r} never comes")
    return Cron(given)
