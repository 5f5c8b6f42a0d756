"""Counters that survive whoever counts: kept in the store, raised by the script that ends an attempt or a task.

A worker that was killed counts nothing. So nothing here is raised by it: the script that ends an attempt counts in
the same step, once a fence, and the one that finds a lost attempt counts that. Counters are kept by image, the
release that ran the attempt, so that a roll-out can compare two; they only grow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from koala import keys
from koala.store import Store

OUTCOMES = ("done", "failed", "crashed", "parked", "snoozed", "review", "cancelled", "lost")
"""How an attempt can end. `lost`: its worker said nothing any more, or the store was away."""
ENDINGS = keys.STATUSES[5:]
"""How a task can end."""
OTHER = "other"
"""What stands for a name that is not on its closed list."""
DEV = "dev"
"""The image of a program that was given none."""
NOBODY = "-"
"""The image of what no attempt did: a queued task that was cancelled or passed its deadline."""
OLDER = "(older)"
"""What images that have not run for long are counted under together."""
IMAGES = 50
"""So many are kept apart."""


class Crash(StrEnum):
    """What died under an attempt, or failed it from below: the closed list."""

    TAB = "tab"
    BROWSER = "browser"
    DRIVER = "driver"
    CHILD = "child"
    WORKER = "worker"
    NO_BROWSER = "no_browser"
    OTHER = OTHER

    @property
    def meaning(self) -> str:
        """For the reference."""
        return _MEANINGS[self]


_MEANINGS = {
    Crash.TAB: "more dead tabs than one attempt survives",
    Crash.BROWSER: "the browser died or hung",
    Crash.DRIVER: "Playwright's driver died",
    Crash.CHILD: "the process that runs the workflow died or hung",
    Crash.WORKER: "the slot was lost with its attempt, or failed itself",
    Crash.NO_BROWSER: "a browser did not start; it costs the task nothing",
    Crash.OTHER: "anything else",
}


def crash(kind: str) -> Crash:
    """A kind as the closed list has it: OTHER for one that is not there."""
    return Crash(kind) if kind in set(Crash) else Crash.OTHER


@dataclass
class Counts:
    """What one image has done, or several together. Each counter is 0 where nothing was counted."""

    attempts: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By workflow and outcome."""
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Tasks, by workflow and status."""
    crashes: Counter[str] = field(default_factory=Counter)
    """By kind."""

    @property
    def workflows(self) -> set[str]:
        """The names that were counted."""
        return {workflow for workflow, _ in (*self.attempts, *self.ended)}

    def add(self, what: str, number: int) -> None:
        """Add one field of a record. What a newer Koala counts besides is left out."""
        kind, *rest = what.split("|")
        if kind == "attempt" and len(rest) == 2:
            self.attempts[rest[0], rest[1]] += number
        elif kind == "ended" and len(rest) == 2:
            self.ended[rest[0], rest[1]] += number
        elif kind == "crash" and len(rest) == 1:
            self.crashes[crash(rest[0])] += number

    def public(self) -> dict[str, Any]:
        """JSON-ready: attempts and ended by workflow, crashes by kind; only what was counted."""
        return {
            "attempts": _nested(self.attempts),
            "ended": _nested(self.ended),
            "crashes": {str(kind): number for kind, number in sorted(self.crashes.items())},
        }


def _nested(pairs: Counter[tuple[str, str]]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (workflow, outcome), number in sorted(pairs.items()):
        found.setdefault(workflow, {})[outcome] = number
    return found


def own_keys(image: str) -> list[str]:
    """The keys that a counting script is given last: the counters of an image, and the images that have some."""
    return [keys.counts(image), keys.COUNTED]


def by_image(store: Store) -> dict[str, Counts]:
    """All counters, by image, the one counted for last (to the millisecond) at the end. Two round trips; empty in a
    new store.
    """
    names = [str(name) for name in store.client.zrange(keys.COUNTED, 0, -1)]
    pipe = store.client.pipeline(transaction=False)
    for name in names:
        pipe.hgetall(name)
    found = zip(names, pipe.execute(), strict=True)
    return {name.removeprefix(keys.counts("")): _read(record) for name, record in found}


def fold(store: Store, keep: int = IMAGES) -> int:
    """Add up all images but those `keep` that were counted for last; how many went. Safe beside another's."""
    older = keys.counts(OLDER)
    names = [str(name) for name in store.client.zrange(keys.COUNTED, 0, -1 - keep)]
    going = [name for name in names if name not in (older, keys.counts(NOBODY))]
    for name in going:
        store.run("counts_fold", [name, older, keys.COUNTED])
    return len(going)


def _read(record: dict[str, str]) -> Counts:
    found = Counts()
    for what, number in record.items():
        found.add(str(what), int(number))
    return found


def total(several: Iterable[Counts]) -> Counts:
    """All of them together."""
    found = Counts()
    for one in several:
        found.attempts.update(one.attempts)
        found.ended.update(one.ended)
        found.crashes.update(one.crashes)
    return found
