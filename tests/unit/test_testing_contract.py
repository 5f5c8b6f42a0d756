"""The store in memory keeps the contract of the real one: the same tests, over fakeredis."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.fixtures import FixtureFunctionDefinition

from koala.store import Store
from koala.testing import memory_store
from tests.support import pool as pool_
from tests.support.pool import Pool

SUITE = sorted(path.stem for path in (Path(__file__).parents[1] / "redis").glob("test_store_*.py"))
REAL = {"redis", "redis_server", "own_redis", "redis_url", "rq_client", "home", "machine"}
"""Fixtures of a real server, and a run of many orders of things, which is long."""

READ = {
    "string": lambda client, key: client.get(key),
    "hash": lambda client, key: client.hgetall(key),
    "set": lambda client, key: client.smembers(key),
    "zset": lambda client, key: client.zrange(key, 0, -1, withscores=True),
    "stream": lambda client, key: client.xrange(key),
}


def dump(store: Store) -> dict[str, tuple[str, int]]:
    """What `tests.support.pool.dump` says of a real server, which fakeredis has no script for."""
    client = store.client
    return {
        str(key): (repr(READ[str(client.type(key))](client, key)), client.pexpiretime(key))
        for key in client.scan_iter("*")
    }


@pytest.fixture(autouse=True)
def _dump(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_, "dump", dump)


@pytest.fixture
def store() -> Iterator[Store]:
    """In memory, empty."""
    made = memory_store()
    yield made
    made.close()


@pytest.fixture
def pool(store: Store) -> Pool:
    """A pool without processes, over that."""
    return Pool(store)


def fits(test: object) -> bool:
    """Whether a test needs nothing of a real server besides the store."""
    wanted = set(inspect.signature(test).parameters) if callable(test) else set()
    return not wanted & REAL


def adopt(module: str) -> dict[str, object]:
    """The tests of a module that fit, under names of their own."""
    found = vars(importlib.import_module(f"tests.redis.{module}"))
    own = {name: item for name, item in found.items() if getattr(item, "__module__", "").endswith(module)}
    fixtures = {name: item for name, item in found.items() if isinstance(item, FixtureFunctionDefinition)}
    classes = {f"{name}Of{module}": _fitting(item) for name, item in own.items() if inspect.isclass(item)}
    functions = {f"{name}_of_{module}": item for name, item in own.items() if inspect.isfunction(item)}
    tests = {name: item for name, item in functions.items() if name.startswith("test_") and fits(item)}
    suites = {name: item for name, item in classes.items() if name.startswith("Test")}
    return {**{name: item for name, item in fixtures.items() if name not in REAL}, **suites, **tests}


def _fitting(suite: type) -> type:
    kept = {name: item for name, item in vars(suite).items() if not name.startswith("test_") or fits(item)}
    return type(
        suite.__name__, (), {name: item for name, item in kept.items() if name not in ("__dict__", "__weakref__")}
    )


for part in SUITE:
    adopted = adopt(part)
    assert not adopted.keys() & globals().keys(), f"two things of one name: {adopted.keys() & globals().keys()}"
    globals().update(adopted)
