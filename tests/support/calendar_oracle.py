"""When a cron expression runs, told by walking minute by minute: slow, simple, and sharing nothing with Koala's way."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

BOUNDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
MINUTE = timedelta(minutes=1)


def _numbers(field: str, low: int, high: int) -> set[int]:
    """The numbers of one field: lists, ranges and steps."""
    found: set[int] = set()
    for part in field.split(","):
        body, _, step = part.partition("/")
        if body == "*":
            begin, end = low, high
        elif "-" in body:
            begin, end = map(int, body.split("-"))
        else:
            begin, end = int(body), high if step else int(body)
        found.update(range(begin, end + 1, int(step or 1)))
    return found


class Oracle:
    """Which wall clocks an expression means; and by that, which moments."""

    def __init__(self, text: str, place: ZoneInfo) -> None:
        self._fields = text.split()
        self._sets = [_numbers(field, *bounds) for field, bounds in zip(self._fields, BOUNDS, strict=True)]
        self._place = place
        self._named = not (self._fields[0].startswith("*") or self._fields[1].startswith("*"))

    def means(self, shown: datetime) -> bool:
        """Whether a wall that shows this minute is meant."""
        minutes, hours, days, months, weekdays = self._sets
        day, weekday = shown.day in days, bool({shown.isoweekday(), shown.isoweekday() % 7} & weekdays)
        both = self._fields[2].startswith("*") or self._fields[4].startswith("*")
        right = (day and weekday) if both else (day or weekday)
        return shown.minute in minutes and shown.hour in hours and shown.month in months and right

    def moments(self, after: datetime, until: datetime) -> list[datetime]:
        """All in (after, until], in UTC, minute by minute. Both are whole minutes."""
        return list(self._walk(after.astimezone(UTC), until.astimezone(UTC)))

    def _walk(self, now: datetime, until: datetime) -> Iterator[datetime]:
        while now < until:
            before, now = now, now + MINUTE
            here = now.astimezone(self._place)
            shown, earlier = here.replace(tzinfo=None), before.astimezone(self._place).replace(tzinfo=None)
            if not self._named:
                run = self.means(shown)
            else:  # once, at its first coming; and what the wall has jumped over, when it has jumped
                run = (self.means(shown) and not here.fold) or any(map(self.means, _between(earlier, shown)))
            if run:
                yield now


def _between(earlier: datetime, shown: datetime) -> Iterator[datetime]:
    """The minutes that no wall has shown."""
    minute = earlier + MINUTE
    while minute < shown:
        yield minute
        minute += MINUTE
