"""Words for tests of stored schedules: made, enabled, and with some of the past still undecided."""

from __future__ import annotations

from typing import Any

from koala import keys, tasks
from koala.schedules import record, switching
from koala.schedules.definition import Definition, Overlap
from koala.schedules.state import State
from koala.store import Store

NAME = "nightly"
DAY_MS = 86_400_000


def define(name: str = NAME, **more: Any) -> Definition:
    """Every day, so that no test comes upon a next time by chance: a task of `shop@1`."""
    given = {"zone": "UTC", "every_ms": DAY_MS, "overlap": Overlap.ALLOW, **more}
    return Definition(name, "shop", 1, **given)


def make(store: Store, definition: Definition, *, undecided_ms: int = 0) -> Definition:
    """Store and enable it; so long nobody has looked at it."""
    switching.apply(store, definition, "ann")
    assert switching.enable(store, definition.name, "ann")
    if undecided_ms:
        back(store, definition.name, undecided_ms)
    return definition


def back(store: Store, name: str, ms: int) -> None:
    """As if nobody had looked at it for so long."""
    cursor = tasks.now_ms(store) - ms
    store.client.hset(keys.schedule(name), mapping={"cursor_ms": cursor, "next_ms": cursor})
    store.client.zadd(keys.SCHEDULES_DUE, {name: cursor})


def state(store: Store, name: str = NAME) -> State:
    """Its record now."""
    return record.look(store, name)[1]


def made(store: Store, name: str = NAME) -> list[tasks.Task]:
    """The tasks of its occurrences and runs, in any state, oldest first."""
    ids = [id_ for status in keys.STATUSES for id_ in tasks.ids(store, status, limit=100_000)]
    found = [task for task in tasks.many(store, ids) if task.extra.get("schedule") == name]
    return sorted(found, key=lambda task: task.id)


def outcomes(store: Store, name: str = NAME) -> list[str]:
    """What became of its occurrences, the oldest first."""
    return [event.outcome for event in reversed(record.history(store, name, limit=1000))]
