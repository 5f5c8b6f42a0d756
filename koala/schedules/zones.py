"""Time zones: from what the clock on the wall shows to moments, and back.

A moment is ms since 1970; what a wall shows is a naive datetime. Twice a year most zones have wall times that never
come (a gap) or come twice (a fold). Changes of half an hour are changes like any other.
"""

from __future__ import annotations

import zoneinfo
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from functools import cache
from zoneinfo import ZoneInfo

from koala.schedules.errors import InvalidSchedule

DAY_MS = 86_400_000
NO_PLACE = frozenset({"localtime", "posixrules", "Factory"})
"""Files beside the zones which are none: what they mean differs from machine to machine."""


@cache
def zone(name: str) -> ZoneInfo:
    """A zone by its IANA name. Raises InvalidSchedule with a suggestion, or with what to install."""
    try:
        if name in NO_PLACE:
            raise ValueError(name)
        return ZoneInfo(name)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        raise InvalidSchedule(_unknown(name)) from None


def _unknown(name: str) -> str:
    known = zoneinfo.available_timezones()
    if not known:
        return "this machine has no time zones: install tzdata"
    by_lower = {zone.lower(): zone for zone in known}
    close = get_close_matches(name.lower(), by_lower, n=3, cutoff=0.7)
    meant = f": did you mean {' or '.join(by_lower[zone] for zone in close)}?" if close else ""
    return f"time zone {name!r} is not known here{meant or ': use an IANA name like Europe/Berlin, and install tzdata'}"


def moment(when: datetime) -> int:
    """The moment of an aware time."""
    return round(when.timestamp() * 1000)


def aware(ms: int, zone: ZoneInfo) -> datetime:
    """A moment as an aware time of a zone."""
    return datetime.fromtimestamp(ms / 1000, zone)


def wall(ms: int, zone: ZoneInfo) -> datetime:
    """What the wall shows at a moment."""
    return aware(ms, zone).replace(tzinfo=None, fold=0)


def offset_ms(ms: int, zone: ZoneInfo) -> int:
    """How far the wall is ahead of UTC at a moment."""
    offset = aware(ms, zone).utcoffset() or timedelta()
    return round(offset.total_seconds() * 1000)


def at_offset(shown: datetime, offset: int) -> int:
    """The moment at which a wall that is `offset` ms ahead of UTC shows this."""
    return moment(shown.replace(tzinfo=UTC)) - offset


def change(zone: ZoneInfo, low: int, high: int) -> int | None:
    """The first moment in (low, high] at which the clocks are changed, to the second; None when they are not."""
    offset = offset_ms(low, zone)
    while low < high:
        probe = min(low + DAY_MS, high)
        if offset_ms(probe, zone) != offset:
            return _narrowed(zone, low, probe, offset)
        low = probe
    return None


def _narrowed(zone: ZoneInfo, low: int, high: int, offset: int) -> int:
    low, high = low // 1000, -(-high // 1000)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset_ms(middle * 1000, zone) == offset else (low, middle)
    return high * 1000


def _both(shown: datetime, zone: ZoneInfo) -> tuple[int, int]:
    """Read by the clock before a change and by the one after it; the same where there is none."""
    return moment(shown.replace(tzinfo=zone, fold=0)), moment(shown.replace(tzinfo=zone, fold=1))


def missing(shown: datetime, zone: ZoneInfo) -> bool:
    """Whether no clock of the zone ever shows this: it falls into a gap."""
    before, after = _both(shown, zone)
    return before > after


def twice(shown: datetime, zone: ZoneInfo) -> bool:
    """Whether clocks show this two times."""
    before, after = _both(shown, zone)
    return before < after


def first(shown: datetime, zone: ZoneInfo) -> int:
    """The first moment at which the wall shows this; of a time that never comes the end of its gap."""
    before, after = _both(shown, zone)
    if before <= after:
        return before
    end = change(zone, after, before)
    return before if end is None else end
