"""A store that was restored from a backup: the epoch it goes on in, and what its tasks may have done meanwhile.

A backup is older than the world: what was done after it is not in it. So a restored store begins an epoch larger than
any ever used, voids every lease, closes every question, and counts every effect of its tasks that has not happened,
recorded or not, as `sent` by anyone of the older epochs: `confirm` looks first. Nothing starts before all of that is
done, and one longest lease more. Killed in the middle, it is declared again.

Money budgets are not built yet; they belong between `carry` and `finish`: closed, until a person enters what was spent.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from koala import keys, tasks
from koala.clock import wall_ms
from koala.store import Store, to_lua

PAGE = 500
RQ = "rq:*"
"""RQ's own keys. They are rebuilt from the task records."""


@dataclass(frozen=True)
class Restored:
    """The last restore of a store. Not `complete`: nothing starts until it is declared again."""

    epoch: int
    complete: bool
    at_ms: int
    by: str
    because: str
    machine: str
    """Where it was declared: whose locks prove that the older attempts are gone."""
    machines: frozenset[str]
    """The other machines that the backup knows."""
    word: str
    """A person's word that nothing of the older epochs runs on those; empty without one."""
    open_ms: int = 0
    """From when on leases are given, by the store's clock."""
    tasks: int = 0
    effects: int = 0


@dataclass(frozen=True)
class Word:
    """Who declares a restore, why, where, and for which other machines of the backup they give their word."""

    by: str
    because: str
    machine: str
    machines: frozenset[str] = frozenset()
    word: str = ""


@dataclass(frozen=True)
class Declared:
    """What became of it: tasks that have not ended, their recorded effects in doubt, and when leases are given."""

    epoch: int
    tasks: int
    effects: int
    hold_s: float


def last(store: Store) -> Restored | None:
    """The last restore; None when there never was one."""
    found = store.hash(keys.RESTORED)
    if not found:
        return None
    facts = json.loads(found["facts"])
    return Restored(
        epoch=int(found["epoch"]),
        complete=found["state"] == "complete",
        at_ms=int(found["at_ms"]),
        by=found["by"],
        because=facts["because"],
        machine=facts["machine"],
        machines=frozenset(facts["machines"]),
        word=facts["word"],
        open_ms=int(found.get("open_ms", 0)),
        tasks=int(found.get("tasks", 0)),
        effects=int(found.get("effects", 0)),
    )


def next_epoch(store: Store, highest_elsewhere: int) -> int:
    """An epoch larger than the store's and any known outside it: the time in ms, unless clocks have lied."""
    return max(wall_ms(), int(store.client.get(keys.EPOCH) or 0) + 1, highest_elsewhere + 1)


def machines(store: Store) -> frozenset[str]:
    """The machines on which something of the tasks in the store may have run: those of its slots and attempts."""
    found: set[str] = set()
    for page in _pages(store.client.scan_iter(match=f"{keys.SLOT}*", count=PAGE)):
        pipe = store.client.pipeline(transaction=False)
        for key in page:
            pipe.hget(key, "machine")
        found.update(str(name) for name in pipe.execute() if name)
    for page in _pages(_unended(store)):
        pipe = store.client.pipeline(transaction=False)
        for id_ in page:
            pipe.hvals(keys.attempts(id_))
        texts = [json.loads(text) for values in pipe.execute() for text in values]
        found.update(str(attempt["machine"]) for attempt in texts if attempt.get("machine"))
    return frozenset(found)


def declare(store: Store, epoch: int, word: Word, *, ttl_ms: int, doubt_ms: int) -> Declared | None:
    """Take the restored store into the new epoch. None when that is not larger than its own: choose again.

    The epoch has to be written down outside the store before. `ttl_ms` is the longest lease that is known outside;
    for `doubt_ms` also a new task's effect is looked for first, when the ledger does not know its key: the task that
    had it may be one that the restore took away. Each step is atomic; killed between two, the store stays shut.
    """
    if not begin(store, epoch, word, doubt_ms):
        return None
    flush_rq(store)
    count, effects = carry(store, epoch)
    reply = store.run("restore_finish", _FINISH, str(epoch), ttl_ms, count, effects)
    return Declared(epoch, count, effects, reply["hold_ms"] / 1000)


_FINISH = [keys.RESTORED, keys.HOLD, keys.TTL_MOST, keys.QUESTIONS, keys.ASKED]


def begin(store: Store, epoch: int, word: Word, doubt_ms: int) -> bool:
    """Shut the store, begin its epoch and void every lease. False when the epoch is not larger than its own."""
    own = [keys.EPOCH, keys.HOLD, keys.RESTORED, keys.LEASES, keys.SLOTS, keys.LEADER]
    facts = to_lua({**vars(word), "machines": sorted(word.machines)})
    while True:  # until none is left: one may have been given just before it was shut
        held = [str(resource) for resource in store.client.zrange(keys.LEASES, 0, PAGE)]
        leases = [keys.lease(resource) for resource in held]
        reply = store.run("restore_begin", [*own, *leases], str(epoch), word.by, facts, doubt_ms, *held)
        if not reply["ok"]:
            return False
        if not store.client.zcard(keys.LEASES):
            return True


def flush_rq(store: Store) -> int:
    """Delete RQ's keys, and no others; returns how many."""
    found = store.client.scan_iter(match=RQ, count=PAGE)
    return sum(int(store.client.delete(*page)) for page in _pages(found))


def carry(store: Store, epoch: int) -> tuple[int, int]:
    """Take every task into the epoch, each atomically: how many have not ended, and how many effects are in doubt.

    What was carried before is left alone.
    """
    for page in _pages(_all(store)):
        for task in tasks.many(store, page):
            _carry(store, task.id, task.block, epoch)
    unended = list(_unended(store))
    pipe = store.client.pipeline(transaction=False)
    for id_ in unended:
        pipe.hlen(keys.open_effects(id_))
    return len(unended), sum(int(number) for number in pipe.execute())


def _carry(store: Store, id_: str, block: list[str], epoch: int) -> None:
    operations = sorted(str(name) for name in store.client.smembers(keys.task_effects(id_)))
    own = [keys.attempts(id_), keys.RESTORED, *map(keys.effect, operations)]
    store.run("restore_task", [*block, *own], id_, str(epoch), to_lua(operations))


def _all(store: Store) -> Iterator[str]:
    """Every task id, those that have not ended first; as listed before the first one moves."""
    yield from list(_unended(store))
    for status in sorted(keys.ENDED):
        yield from map(str, store.client.zrange(keys.index(status), 0, -1))


def _unended(store: Store) -> Iterator[str]:
    for status in keys.STATUSES:
        if status not in keys.ENDED:
            yield from map(str, store.client.zrange(keys.index(status), 0, -1))


def _pages(found: Iterator[Any]) -> Iterator[list[str]]:
    while page := list(islice(found, PAGE)):
        yield [str(item) for item in page]
