"""One table of schedules.toml: its values read by kind, its faults collected with their keys."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from difflib import get_close_matches
from enum import StrEnum
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

from koala.schedules.errors import InvalidSchedule
from koala.schedules.zones import first, missing, moment, twice, zone

PART = re.compile(r"(\d+)\s*(s|min|m|h|d|w)")
UNITS_MS = {"s": 1000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}
LONGEST_MS = 10 * 366 * 86_400_000

Choice = TypeVar("Choice", bound=StrEnum)
Read = TypeVar("Read")


@dataclass
class Table:
    """A table as tomllib gives it. Each reader takes one key; a fault is noted, and the default goes on."""

    given: Mapping[str, Any]
    faults: list[tuple[str, str]] = field(default_factory=list)
    """Key and reason."""
    _taken: set[str] = field(default_factory=set)

    def fault(self, key: str, reason: str) -> None:
        """Note what is wrong at a key."""
        self.faults.append((key, reason))

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return key in self.given

    def text(self, key: str, default: str = "") -> str:
        """A text."""
        return self._as(key, default, _text)

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of texts."""
        return self._as(key, (), lambda value: tuple(map(_text, value if isinstance(value, list) else [value])))

    def whole(self, key: str, default: int, low: int, high: int) -> int:
        """A whole number in these bounds."""

        def read(value: Any) -> int:
            if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
                raise InvalidSchedule(f"{value!r} is no whole number from {low} to {high}")
            return value

        return self._as(key, default, read)

    def span(self, key: str, default: int = 0, least: int = 0) -> int:
        """A duration in ms, from text like `90s`, `1h 30m`, `7d`."""

        def read(value: Any) -> int:
            found = duration(value)
            if found < least:
                raise InvalidSchedule(f"{value!r} is shorter than {least // 1000} s")
            return found

        return self._as(key, default, read)

    def choice(self, key: str, default: Choice) -> Choice:
        """One of a closed list."""
        kind = type(default)

        def read(value: Any) -> Choice:
            try:
                return kind(value)
            except ValueError:
                raise InvalidSchedule(f"{value!r} is none of {', '.join(kind)}") from None

        return self._as(key, default, read)

    def mapping(self, key: str) -> dict[str, Any]:
        """A table within it."""

        def read(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise InvalidSchedule('it has to be a table, like { sku = "K-100" }')
            return value

        return self._as(key, {}, read)

    def place(self, key: str) -> ZoneInfo | None:
        """A time zone, which has to be there."""
        if not self.has(key):
            self._taken.add(key)
            self.fault(key, "it is missing: say in which time zone, like Europe/Berlin or UTC")
            return None
        return self._as(key, None, lambda value: zone(_text(value)))

    def moments(self, key: str, place: ZoneInfo) -> tuple[int, ...]:
        """One time or a list of times, each unmistakable."""

        def read(value: Any) -> tuple[int, ...]:
            return tuple(_exact(item, place) for item in (value if isinstance(value, list) else [value]))

        return self._as(key, (), read)

    def moment(self, key: str, place: ZoneInfo, *, last: bool = False) -> int:
        """A time; a date stands for its beginning, or for its end where the `last` moment is meant."""
        return self._as(key, 0, lambda value: _moment(value, place, last=last))

    def leave(self, *keys: str) -> None:
        """These may be there, and are not read."""
        self._taken.update(keys)

    def rest(self) -> None:
        """Note every key that nobody has taken."""
        for key in self.given.keys() - self._taken:
            close = get_close_matches(key, self._taken, n=1)
            self.fault(key, "there is no such key" + (f": did you mean {close[0]}?" if close else ""))

    def _as(self, key: str, default: Read, read: Callable[[Any], Read]) -> Read:
        self._taken.add(key)
        if key not in self.given:
            return default
        try:
            return read(self.given[key])
        except InvalidSchedule as error:
            self.fault(key, str(error))
            return default


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InvalidSchedule(f"{value!r} is no text")
    return value.strip()


def duration(value: Any) -> int:
    """A duration in ms. Raises InvalidSchedule for what has no unit."""
    parts = PART.findall(value) if isinstance(value, str) else []
    if not parts or PART.sub("", value).strip():
        raise InvalidSchedule(f"{value!r} is no duration: write it like 90s, 30m, 1h 30m or 7d")
    found = sum(int(number) * UNITS_MS[unit] for number, unit in parts)
    if found > LONGEST_MS:
        raise InvalidSchedule(f"{value!r} is longer than ten years")
    return found


def _shown(value: Any) -> datetime | date:
    """A time or a date as TOML knows it, or as text."""
    if isinstance(value, (datetime, date)):
        return value
    try:
        text = _text(value)
        return date.fromisoformat(text) if len(text) == len("2026-12-24") else datetime.fromisoformat(text)
    except ValueError:
        raise InvalidSchedule(f"{value!r} is no time: write it like 2026-12-24T18:00") from None


def _moment(value: Any, place: ZoneInfo, *, last: bool = False) -> int:
    shown = _shown(value)
    if isinstance(shown, datetime):
        return _seconds(moment(shown) if shown.tzinfo else first(shown, place))
    if last:
        return first(datetime.combine(shown + timedelta(days=1), time()), place) - 1
    return first(datetime.combine(shown, time()), place)


def _exact(value: Any, place: ZoneInfo) -> int:
    """The moment of a time that comes once."""
    shown = _shown(value)
    if not isinstance(shown, datetime):
        raise InvalidSchedule(f"{value} has no time of day: write it like 2026-12-24T18:00")
    if not shown.tzinfo and missing(shown, place):
        raise InvalidSchedule(f"{shown} never comes in {place.key}: the clocks are put forward over it")
    if not shown.tzinfo and twice(shown, place):
        raise InvalidSchedule(f"{shown} comes twice in {place.key}: add which, like {shown.isoformat()}+01:00")
    return _moment(value, place)


def _seconds(ms: int) -> int:
    if ms < 0:
        raise InvalidSchedule("times before 1970 cannot be planned")
    return ms // 1000 * 1000
