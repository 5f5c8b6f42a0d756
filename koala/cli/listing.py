"""Finding the newest tasks without reading all of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice

from koala import keys, tasks
from koala.store import Store
from koala.tasks import Task

PAGE = 200
MOST = 20_000
"""Records looked at in one listing at most."""


def newest(
    store: Store, statuses: list[str], limit: int, *, workflow: str = "", profile: str = ""
) -> tuple[list[Task], bool]:
    """The most recently made tasks, newest first, and whether older ones were left unlooked at.

    An index is ordered by when its tasks entered the status, never before they were made: so once enough
    tasks are found that were made after the next entry, the rest is older.
    """
    found: dict[str, Task] = {}
    looked = 0
    for page in _pages(_merged(store, statuses)):
        if _enough(found, limit, page[0][0]):
            break
        if looked >= MOST:
            return _first(found, limit), True
        looked += len(page)
        for task in tasks.many(store, [id_ for _, id_ in page]):
            if workflow in ("", task.workflow) and profile in ("", task.profile) and task.status in statuses:
                found[task.id] = task
    return _first(found, limit), False


def _first(found: dict[str, Task], limit: int) -> list[Task]:
    return sorted(found.values(), key=lambda task: (task.created_ms, task.id), reverse=True)[:limit]


def _enough(found: dict[str, Task], limit: int, entered: float) -> bool:
    """Whether `limit` tasks were made after the next entry of any index."""
    return sum(task.created_ms > entered for task in found.values()) >= limit


def _entries(store: Store, status: str) -> Iterator[tuple[float, str]]:
    """(score, id) of an index, highest score first, read in pages."""
    start = 0
    while page := store.client.zrevrange(keys.index(status), start, start + PAGE - 1, withscores=True):
        yield from ((float(entry[1]), str(entry[0])) for entry in page)
        start += PAGE


def _merged(store: Store, statuses: list[str]) -> Iterator[tuple[float, str]]:
    return heapq.merge(*(_entries(store, status) for status in statuses), key=lambda entry: -entry[0])


def _pages(entries: Iterator[tuple[float, str]]) -> Iterator[list[tuple[float, str]]]:
    while page := list(islice(entries, PAGE)):
        yield page
