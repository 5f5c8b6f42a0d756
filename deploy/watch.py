"""Whether the new image fails or crashes more than the old one. Pure.

The new one is worse when its bad endings are at least `FLOOR`, and that many would be seen by chance less often than
`CHANCE` if it were as good as the old one with `MARGIN` on top. Beside a good old image two failures never count, three
of three do, three of ten do not, four of ten do. The old image is taken at the worse of its whole record and its record
since the roll-out began: when a site is down, both images fail, and neither is to blame.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FLOOR = 3
CHANCE = 0.01
MARGIN = 0.05
MOST = 0.95
"""An old image that is worse than this is taken for this bad."""
PRIOR_RATE, PRIOR = 0.05, 20
"""An image without a record is taken for this bad; it weighs as much as so many attempts would."""

CANARY = "koala.canary"
COUNTED = frozenset(["done", "failed", "crashed", "lost", "review", "cancelled"])
"""Attempts that say something; a parked or snoozed one says nothing about the image."""
KINDS: Mapping[str, frozenset[str]] = {
    "failed": frozenset(["failed"]),
    "crashed": frozenset(["crashed", "lost"]),
    "had no browser": frozenset(["no browser"]),
}
NO_BROWSER = "crash|no_browser"
"""Such an attempt is parked and costs its task nothing, but an image that cannot start a browser is no good."""


@dataclass(frozen=True)
class Tally:
    """Attempts that ended, and how many of them badly."""

    ended: int = 0
    bad: int = 0

    def rate(self, expected: float) -> float:
        """The share of bad ones as it is believed, where so much was expected."""
        return (self.bad + PRIOR * expected) / (self.ended + PRIOR)


def tally(counts: Mapping[str, int], bad: Iterable[str]) -> Tally:
    """Count an image's attempts; canaries are left out, they are judged one by one."""
    kinds, found = frozenset(bad), list(_outcomes(counts))
    return Tally(sum(number for _, number in found), sum(number for outcome, number in found if outcome in kinds))


def _outcomes(counts: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    for name, number in counts.items():
        what, _, rest = name.partition("|")
        workflow, _, outcome = rest.rpartition("|")
        if what == "attempt" and workflow != CANARY and outcome in COUNTED:
            yield outcome, number
    yield "no browser", counts.get(NO_BROWSER, 0)


def since(now: Mapping[str, int], before: Mapping[str, int]) -> dict[str, int]:
    """What was counted since then."""
    return {name: number - before.get(name, 0) for name, number in now.items()}


def chance(tallied: Tally, rate: float) -> float:
    """How likely it is to see that many bad ones or more, if each attempt is bad with this probability."""
    if tallied.bad <= 0:
        return 1.0
    most = range(tallied.bad, tallied.ended + 1)
    return min(1.0, math.fsum(_exactly(tallied.ended, bad, rate) for bad in most))


def _exactly(ended: int, bad: int, rate: float) -> float:
    """By logarithms: the number of ways would not fit a float."""
    ways = math.lgamma(ended + 1) - math.lgamma(bad + 1) - math.lgamma(ended - bad + 1)
    return math.exp(ways + bad * math.log(rate) + (ended - bad) * math.log1p(-rate))


def verdict(
    old: Mapping[str, int], old_before: Mapping[str, int], new: Mapping[str, int], new_before: Mapping[str, int]
) -> str:
    """Why the new image is worse, in a sentence; empty when nothing says so.

    The counts of both images now, and as they were when the roll-out began.
    """
    for kind, bad in KINDS.items():
        fresh = tally(since(new, new_before), bad)
        window, record = tally(since(old, old_before), bad), tally(old, bad)
        usual = record.rate(PRIOR_RATE)
        rate = min(MOST, max(usual, window.rate(usual)) + MARGIN)
        if fresh.bad >= FLOOR and chance(fresh, rate) < CHANCE:
            return (
                f"{fresh.bad} of {fresh.ended} attempts {kind} with the new image, "
                f"{record.bad} of {record.ended} with the old one"
            )
    return ""
