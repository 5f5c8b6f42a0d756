"""One real Redis for all tests that need it, empty at the beginning of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import redis as redis_py

from koala.queue import connect
from koala.store import Store, open_store
from tests.support import access
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """The shared server. A test that kills, freezes or reconfigures one takes `own_redis` instead."""
    with RedisServer(access.users()) as server:
        yield server


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A server of the test's own, to be broken at will."""
    with RedisServer(access.users()) as server:
        yield server


@pytest.fixture(scope="session")
def redis_url(redis_server: RedisServer) -> str:
    """The shared server's address."""
    return redis_server.url


@pytest.fixture
def redis(redis_server: RedisServer) -> Iterator[redis_py.Redis]:
    """A client of the shared server that answers in text; the server is empty."""
    with redis_py.Redis.from_url(redis_server.socket_url, decode_responses=True) as client:
        client.flushall()
        yield client


@pytest.fixture
def rq_client(redis: redis_py.Redis, redis_url: str) -> Iterator[redis_py.Redis]:
    """RQ's own client of the shared, empty server."""
    with connect(redis_url) as client:
        yield client


@pytest.fixture
def store(redis: redis_py.Redis, redis_server: RedisServer) -> Iterator[Store]:
    """The shared server, empty, as programs open it."""
    opened = open_store(redis_server.socket_url)
    yield opened
    opened.close()


@pytest.fixture
def pool(store: Store) -> Pool:
    """A pool without processes: submits, hands over and runs attempts by hand."""
    return Pool(store)
