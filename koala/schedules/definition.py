"""What a schedule is: what it runs, when, and by which policies."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any

from koala.schedules import cron
from koala.schedules.calendar import Calendar
from koala.schedules.errors import InvalidSchedule
from koala.schedules.zones import first, zone


class CatchUp(StrEnum):
    """What becomes of occurrences that were missed."""

    SKIP = "skip"
    LATEST = "latest"
    ALL = "all"


class Overlap(StrEnum):
    """What becomes of an occurrence while an earlier run has not ended."""

    FORBID = "forbid"
    QUEUE_ONE = "queue_one"
    QUEUE_ALL = "queue_all"
    CANCEL_RUNNING = "cancel_running"
    ALLOW = "allow"


class Order(StrEnum):
    """Which of several missed ones are run, and in what order."""

    OLDEST = "oldest"
    NEWEST = "newest"


@dataclass(frozen=True)
class Definition:
    """One schedule, checked; made by `koala.schedules.file`. Durations and moments are ms (since 1970), 0 none."""

    name: str
    workflow: str
    version: int
    zone: str
    args: dict[str, Any] = field(default_factory=dict)
    profile: str = ""
    priority: int = 0
    max_attempts: int = 3
    cron: tuple[str, ...] = ()
    every_ms: int = 0
    anchor_ms: int = 0
    at_ms: tuple[int, ...] = ()
    start_ms: int = 0
    end_ms: int = 0
    exclude: tuple[str, ...] = ()
    catch_up: CatchUp = CatchUp.LATEST
    window_ms: int = 7 * 86_400_000
    catch_up_max: int = 10
    catch_up_order: Order = Order.OLDEST
    grace_ms: int = 60_000
    overlap: Overlap = Overlap.FORBID
    overlap_max: int = 100
    jitter_ms: int = 0
    deadline_ms: int = 0
    pause_after: int = 0

    @cached_property
    def calendar(self) -> Calendar:
        """When it is planned to run. Raises InvalidSchedule when this machine does not know its zone."""
        days, crons = exclusions(self.exclude)
        here = zone(self.zone)
        return Calendar(
            zone=here,
            crons=tuple(cron.read(text) for text in self.cron),
            every_ms=self.every_ms,
            anchor_ms=self.anchor_ms,
            at=self.at_ms,
            start_ms=self.start_ms,
            end_ms=self.end_ms,
            stretches=tuple((first(low, here), first(high, here)) for low, high in days),
            except_crons=tuple(cron.read(text) for text in crons),
        )

    def due_ms(self, planned: int) -> int:
        """When the task of an occurrence may start: its planned time and its share of the jitter.

        The share is the same each time it is asked for, and spread evenly over occurrences and schedules.
        """
        if not self.jitter_ms:
            return planned
        number = int.from_bytes(hashlib.sha256(occurrence(self.name, planned).encode()).digest()[:8], "big")
        return planned + number * self.jitter_ms // 2**64

    @property
    def lane(self) -> tuple[str, int, str]:
        """What gates its tasks."""
        return self.workflow, self.version, self.profile

    def to_json(self) -> str:
        """The same text for the same definition."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def from_json(text: str) -> Definition:
    """A stored definition; what a newer Koala has added is left out. Raises InvalidSchedule for an unknown policy."""
    stored = json.loads(text)
    given = {item.name: stored[item.name] for item in fields(Definition) if item.name in stored}
    try:
        for name, kind in (("catch_up", CatchUp), ("overlap", Overlap), ("catch_up_order", Order)):
            given[name] = kind(given[name])
    except ValueError as error:
        raise InvalidSchedule(f"schedule {given['name']} was made by a newer Koala: {error}") from None
    for name in ("cron", "at_ms", "exclude"):
        given[name] = tuple(given[name])
    return Definition(**given)


def occurrence(name: str, planned: int) -> str:
    """The id of an occurrence: its schedule, and its planned time in UTC."""
    return f"schedule/{name}/{datetime.fromtimestamp(planned // 1000, UTC):%Y-%m-%dT%H:%M:%SZ}"


Days = tuple[datetime, datetime]


def exclusions(texts: tuple[str, ...]) -> tuple[list[Days], list[str]]:
    """Exclusions read: stretches from the midnight before to the one after, and cron expressions.

    Raises InvalidSchedule for one that is neither a date, nor two with a slash between them, nor cron.
    """
    days: list[Days] = []
    crons: list[str] = []
    for text in texts:
        if text[:4].isdigit() and text[4:5] == "-":
            days.append(_days(text))
        else:
            crons.append(cron.read(text).text)
    return days, crons


def _days(text: str) -> Days:
    begin, _, end = text.partition("/")
    try:
        low, high = date.fromisoformat(begin.strip()), date.fromisoformat((end or begin).strip())
    except ValueError:
        raise InvalidSchedule(
            f"{text!r} is no date and no two dates: write 2026-12-25 or 2026-12-24/2027-01-01"
        ) from None
    if high < low:
        raise InvalidSchedule(f"{text!r} ends before it begins")
    return datetime.combine(low, time()), datetime.combine(high + timedelta(days=1), time())
