"""Every write of an attempt, with the child or the parent killed just before or just after it.

All cases run in one pool at the same time, each with fault points of its own; a test waits for its own case.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.live_pool import LivePool
from tests.support.selection import selected

pytestmark = pytest.mark.timeout(400)  # the first tests wait for most cases, and a busy machine is slow
SLOTS = 8
"""A slot that dies again and again is started later and later: so many that none dies often."""

WRITES = (
    "acquire",
    "step",
    "checkpoint",
    "effect_look",
    "effect_sent",
    "effect_settle",
    "record",
    "release",
    "renew",
)
"""What the first attempt of an order writes (`renew`: of one that takes a while)."""

WHO = ("child", "parent")
SIDES = ("before", "after")


@dataclass(frozen=True)
class Case:
    """An order, and the points at which something is killed."""

    name: str
    points: tuple[str, ...]
    workflow: str = "test.order"
    args: dict[str, Any] = field(default_factory=dict, hash=False)

    @property
    def reference(self) -> str:
        """Unique; `slow` at its beginning has the shop answer late."""
        return f"{'slow-' if 'renew' in self.name else ''}{self.name}"

    def __str__(self) -> str:
        return self.name


def _first_attempt() -> Iterator[Case]:
    for write, side, who in itertools.product(WRITES, SIDES, WHO):
        yield Case(f"{write}-{side}-{who}", (f"{write}.{side}:{who}",))


def _takeover() -> Iterator[Case]:
    """What the attempt after a kill in the act writes: there is nothing at the shop, or the order is."""
    for write, side, who in itertools.product(("record", "effect_settle"), SIDES, WHO):
        yield Case(f"absent-{write}-{side}-{who}", ("effect_sent.after:child", f"{write}.{side}:{who}"))
        yield Case(f"happened-{write}-{side}-{who}", (f"{write}.{side}:{who}",), "test.exits", {"where": "after"})
    for write, side in itertools.product(("gone", "release"), SIDES):
        yield Case(f"cut-{write}-{side}-parent", ("effect_sent.after:child", f"{write}.{side}:parent"))


def _pairs() -> Iterator[Case]:
    """Two kills in one task, anywhere."""
    chance = random.Random(20)
    writes = [write for write in WRITES if write != "renew"]
    for number in range(16):
        first, second = chance.sample(list(itertools.product(writes, SIDES)), 2)
        points = tuple(f"{write}.{side}:{chance.choice(WHO)}" for write, side in (first, second))
        yield Case(f"pair-{number}", points, args={"effects": 2})


CASES = [*_first_attempt(), *_takeover(), *_pairs()]


@dataclass
class Matrix:
    """The pool and the task of each case."""

    pool: LivePool
    tasks: dict[Case, str]

    def fired(self, case: Case) -> set[str]:
        """The points of a case at which something was killed."""
        points = {point.partition(":")[0] for point in case.points}
        return {p for p in points if (self.pool.home / "faults" / f"{self.tasks[case]}.{p}").exists()}


@pytest.fixture(scope="module")
def matrix(request: pytest.FixtureRequest) -> Iterator[Matrix]:
    """Every selected case, submitted to one pool."""
    with LivePool() as pool:
        pool.shop.set_manners(slow_answer_ms={"reference": "slow-", "ms": 2000})
        pool.start(SLOTS)
        tasks = {
            case: pool.errand(case.workflow, case.reference, plan=",".join(case.points), **case.args)
            for case in selected(request, "case")
        }
        yield Matrix(pool, tasks)


def _told(matrix: Matrix, id_: str) -> bool:
    """Whether the timeline says why there was more than one start."""
    lost = matrix.pool.events(id_, "attempt_lost", "delivery_lost")
    first = matrix.pool.events(id_, "attempt_ended")[:-1]
    return all(event.data["why"] for event in [*lost, *first]) and bool(lost or first)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_whatever_is_killed_around_a_write_the_order_is_placed_once(matrix: Matrix, case: Case) -> None:
    """Promises 3 and 4: one order, the task done, the reason told, and no attempt of the author's spent."""
    pool, id_ = matrix.pool, matrix.tasks[case]
    pool.until_done(id_, within_s=300)

    arrivals = pool.shop.state()["arrivals"]
    for reference in [case.reference, f"{case.reference}-1"][: case.args.get("effects", 1)]:
        assert (pool.orders(reference), arrivals[reference]) == (1, 1), pool.story(id_)
        assert pool.effect(reference, case.workflow).state == "happened"
    if not case.name.startswith("pair"):  # the second point may lie in front of the first
        assert len(matrix.fired(case)) == len(case.points)
    starts = len(pool.events(id_, "attempt_started"))
    assert starts == 1 or _told(matrix, id_), pool.story(id_)
    assert pool.task(id_).attempts == 0
