"""Times and spans as people type and read them. Typed times without a zone are local."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from koala.errors import InvalidArguments
from koala.span import span

SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*(s|m|min|h|d)")
SECONDS = {"s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def moment(option: str, text: str) -> datetime:
    """An aware time from ISO text. Raises InvalidArguments."""
    try:
        return datetime.fromisoformat(text.strip()).astimezone()
    except (ValueError, OverflowError, OSError):
        raise InvalidArguments(
            f"{option} {text!r} is no time: write it like 2031-05-04T09:00 (local) or 2031-05-04T09:00Z"
        ) from None


def moment_or_span(option: str, text: str) -> datetime:
    """A time, or a span from now like `90s`, `30m`, `2h` or `1d`. Raises InvalidArguments."""
    match = SPAN.fullmatch(text.strip())
    if not match:
        return moment(option, text)
    try:
        return datetime.now().astimezone() + timedelta(seconds=float(match[1]) * SECONDS[match[2]])
    except OverflowError:
        raise InvalidArguments(f"{option} {text!r} is too far away") from None


def named(when: datetime) -> str:
    """A time with its zone's name."""
    return when.strftime("%Y-%m-%d %H:%M:%S %Z")


def local(ms: int) -> str:
    """A stored time (ms since 1970) by the local clock, with its zone; a dash for none."""
    return named(datetime.fromtimestamp(ms / 1000).astimezone()) if ms else "—"


def clock(ms: int) -> str:
    """The time of day to a tenth of a second, local."""
    return f"{datetime.fromtimestamp(ms / 1000).astimezone():%H:%M:%S}.{ms % 1000 // 100}"


def day(ms: int) -> str:
    """The local day and zone."""
    return datetime.fromtimestamp(ms / 1000).astimezone().strftime("%Y-%m-%d (%Z)")


def ago(ms: int, now_ms: int) -> str:
    """How long before `now_ms`, roughly; a dash for none."""
    return span(now_ms - ms, 1) if ms else "—"
