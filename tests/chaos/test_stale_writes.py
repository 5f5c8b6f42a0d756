"""Promise 2: a parent frozen in front of each of its writes, and thawed when another attempt has finished the task.

All cases run in one pool at the same time; a test waits for its own case.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psutil
import pytest

from koala import keys, tasks
from tests.support.live_pool import LivePool
from tests.support.selection import selected
from worker import processes

pytestmark = pytest.mark.timeout(400)  # the first test waits for all cases, and a busy machine is slow
SPARE = 3
"""Slots that stay awake."""

POINTS = (
    "step.before",
    "checkpoint.before",
    "effect_look.before",
    "effect_sent.before",
    "effect_sent.after",
    "effect_settle.before",
    "record.before",
    "release.before",
    "renew.before",
)
"""Where the parent freezes: with `after`, its answer to the child is what comes too late."""


@dataclass
class Frozen:
    """One order whose parent froze itself at a point, was overtaken, and has been thawed."""

    task: str
    fence: str
    parent: int
    thawed_ms: int
    record: dict[str, Any]
    """What the store had of task and effect at the thaw."""


class Cases:
    """Brings every parent to its point, waits for the overtaking, thaws."""

    def __init__(self, pool: LivePool, points: list[str]) -> None:
        self.pool = pool
        self._ids = {point: self._submit(point) for point in points}
        parents = {point: self._reach(point) for point in points}
        fences = {point: self._first_fence(point) for point in points}
        pool.until_done(*self._ids.values())
        self.frozen = {}
        for point, id_ in self._ids.items():
            self.frozen[point] = Frozen(id_, fences[point], parents[point], tasks.now_ms(pool.store), self.stored(id_))
        for point in points:
            found = processes.find(parents[point])
            assert found
            pool.thaw([found])

    def _submit(self, point: str) -> str:
        return self.pool.errand("test.order", self.reference(point), plan=f"{point}:freeze")

    def reference(self, point: str) -> str:
        """Of a case's order; `slow` at its beginning has the shop answer late."""
        return f"{'slow-' if point.startswith('renew') else ''}{point}"

    def _reach(self, point: str) -> int:
        """Wait until the parent has stopped itself; its pid."""
        marker = self.pool.home / "faults" / f"{self._ids[point]}.{point}"
        self.pool.until(marker.exists, f"{point} reached")
        pid = self.pool.parent_of(self._ids[point])
        self.pool.until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED, f"{point} frozen")
        self.pool.freeze(pid)  # it is; so it is thawed at the end, whatever happens
        return pid

    def _first_fence(self, point: str) -> str:
        return str(self.pool.events(self._ids[point], "attempt_started")[0].data["fence"])

    def stored(self, id_: str) -> dict[str, Any]:
        """The task, its checkpoints and its effects, without the word that an attempt is gone."""
        client, effects = self.pool.store.client, self.pool.store.client.smembers(keys.task_effects(id_))
        names = [
            keys.task(id_),
            keys.checkpoints(id_),
            keys.open_effects(id_),
            *(keys.effect(str(name)) for name in sorted(effects)),
        ]
        return {name: client.hgetall(name) for name in names}


@pytest.fixture(scope="module")
def cases(request: pytest.FixtureRequest) -> Iterator[Cases]:
    """Every selected point."""
    points = selected(request, "point")
    with LivePool() as pool:
        pool.shop.set_manners(slow_answer_ms={"reference": "slow-", "ms": 2000})
        pool.start(len(points) + SPARE)
        yield Cases(pool, points)


@pytest.mark.parametrize("point", POINTS)
def test_a_write_that_comes_after_the_lease_is_refused(cases: Cases, point: str) -> None:
    """The report that its processes are gone is all that is kept of it, and there is one order."""
    pool, case = cases.pool, cases.frozen[point]
    ends_kindly = point == "release.before"  # its workflow had returned and its child was at rest
    if not ends_kindly:
        pool.until_event(case.task, "attempt_gone", fence=case.fence)
    pool.until(lambda: case.parent in _idle(pool), "the thawed slot is at work again")
    pool.until(lambda: _ended(pool, case.fence), "its log says how the attempt ended, also one that was lost")

    late = [e for e in pool.events(case.task) if e.at_ms >= case.thawed_ms and e.data.get("fence") == case.fence]
    assert [e.action for e in late] == ["attempt_gone"] * (not ends_kindly), pool.story(case.task)
    assert cases.stored(case.task) == case.record
    reference = cases.reference(point)
    assert (pool.orders(reference), pool.shop.state()["arrivals"][reference]) == (1, 1)


def _ended(pool: LivePool, fence: str) -> list[str]:
    """Lines of the log about the end of an attempt."""
    return [line for line in pool.output().splitlines() if '"attempt_ended"' in line and f'"{fence}"' in line]


def _idle(pool: LivePool) -> set[int]:
    """The parents of living slots without a task."""
    return {int(slot["pid"]) for slot in pool.slots() if not slot["task"]}
