"""The doctor's look at the store: durable, of our schema, of one mind about the time; nothing is written."""

from __future__ import annotations

import pytest

from koala import keys
from koala.exits import Exit
from koala.settings import Settings
from koala.store import Store
from koala.store.connection import SCHEMA
from tests.support.pool import unchanged
from tests.support.redis_server import RedisServer
from worker.commands.doctor import storage
from worker.commands.doctor.finding import Finding, State


def looked(url: str) -> dict[str, Finding]:
    return {finding.name: finding for finding in storage.store(Settings(redis_url=url))}


def test_a_durable_store_is_well_and_nothing_is_written(store: Store, redis_server: RedisServer) -> None:
    with unchanged(store):
        found = looked(redis_server.socket_url)
    assert [finding.state for finding in found.values()] == [State.OK] * 4
    assert "durable" in found["store"].found


def test_a_store_that_is_away_is_named_without_its_password() -> None:
    """Promise 6."""
    found = looked("redis://someone:pa55w0rd@127.0.0.1:1/0")["store"]
    assert (found.state, found.exit) == (State.FAIL, Exit.STORE_AWAY)
    assert "pa55w0rd" not in found.found


def test_one_that_may_lose_writes_fails_and_the_rest_is_still_told(own_redis: RedisServer, store: Store) -> None:
    with_eviction = Settings(redis_url=own_redis.socket_url)
    client = storage.client_for(with_eviction.redis_url)
    client.config_set("maxmemory-policy", "allkeys-lru")
    client.config_set("appendfsync", "everysec")
    found = looked(own_redis.socket_url)
    assert (found["store"].state, found["store"].exit) == (State.FAIL, Exit.STORE_UNSAFE)
    assert "appendfsync" in found["store"].do
    assert "maxmemory-policy" in found["store"].do
    assert found["store clock"].state is State.OK
    client.close()


def test_a_newer_schema_fails(store: Store, redis_server: RedisServer) -> None:
    store.client.set(keys.SCHEMA, SCHEMA + 1)
    found = looked(redis_server.socket_url)["store schema"]
    assert (found.state, found.exit) == (State.FAIL, Exit.STORE_NEWER)


def test_clocks_that_differ_are_told(redis_server: RedisServer, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:

    ours = storage.wall_ms
    for ahead_s, state in ((0, State.OK), (5, State.WARN), (120, State.FAIL)):
        monkeypatch.setattr(storage, "wall_ms", lambda ahead_s=ahead_s: ours() + ahead_s * 1000)
        found = looked(redis_server.socket_url)["store clock"]
        assert found.state is state
