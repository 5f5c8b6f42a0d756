"""Schedules while real schedulers are killed: no occurrence is lost, none runs twice."""

from __future__ import annotations

import random

from koala import tasks
from koala.schedules.definition import CatchUp, occurrence
from koala.schedules.state import Status
from tests.support.live_pool import LivePool
from tests.support.program import Program
from tests.support.schedules import define, made, make, state

NAMES = ("tick", "tack", "tock")
EACH = 20
PACE = {"KOALA_LEADER_TTL_S": "1", "KOALA_TICK_S": "0.05"}
SEED = 7


def test_two_schedulers_killed_and_restarted_at_random_across_sixty_occurrences_make_sixty_tasks(
    pool: LivePool,
) -> None:
    """Promise 7. Three schedules of twenty seconds; after each few occurrences one of the two is killed, or both."""
    begin = tasks.now_ms(pool.store) // 1000 * 1000 + 1000
    end = begin + (EACH - 1) * 1000
    more = {"every_ms": 1000, "start_ms": begin, "end_ms": end, "catch_up": CatchUp.ALL, "catch_up_max": EACH}
    for name in NAMES:
        make(pool.store, define(name, **more))
    chance, killed = random.Random(SEED), 0
    both = [pool.scheduler(**PACE) for _ in range(2)]
    while not over(pool):
        some_more(pool, chance.randint(1, 6))
        for at in chance.sample((0, 1), chance.choice((1, 1, 2))):
            kill(both[at])
            both[at], killed = pool.scheduler(**PACE), killed + 1

    expected = {occurrence(name, begin + number * 1000) for name in NAMES for number in range(EACH)}
    found = [task.dedupe for name in NAMES for task in made(pool.store, name)]
    assert set(found) == expected
    assert len(found) == len(NAMES) * EACH == 60
    assert killed >= 3, f"only {killed} were killed"


def kill(scheduler: Program) -> None:
    """At any moment, also before it is up."""
    scheduler.kill()


def over(pool: LivePool) -> bool:
    """Whether each has run its last."""
    return all(state(pool.store, name).status is Status.OVER for name in NAMES)


def number(pool: LivePool) -> int:
    return sum(len(made(pool.store, name)) for name in NAMES)


def some_more(pool: LivePool, much: int) -> None:
    """Until so many further tasks are made, or all are."""
    wanted = number(pool) + much
    pool.until(lambda: number(pool) >= wanted or over(pool), f"{wanted} tasks")
