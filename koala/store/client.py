"""The Redis client of a store: no retries, and one error for every way in which the store is away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.retry import Retry

from koala.errors import SettingsError, StoreAway, StoreForbidden, StoreUnsafe

DENIED = (
    redis.exceptions.AuthenticationError,
    redis.exceptions.AuthenticationWrongNumberOfArgsError,
    redis.exceptions.AuthorizationError,
)
"""A wrong or missing password. redis-py counts two of these among its connection errors."""
AWAY = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    redis.exceptions.BusyLoadingError,
)
FULL = (redis.exceptions.OutOfMemoryError, redis.exceptions.ReadOnlyError)
FORBIDDEN = ("ACL failure in script", "The user executing the script can't")
"""What Redis 8 and 7 say of a command inside a script that its caller may not send."""
CANNOT_WRITE = ("MISCONF", "NOREPLICAS")
"""What Redis says, besides, while it refuses writes: a full disk, too few replicas."""


@contextmanager
def named() -> Iterator[None]:
    """Turn Redis's errors into StoreAway and StoreUnsafe; what is not about reaching or using the store passes."""
    try:
        yield
    except DENIED as error:
        raise StoreUnsafe(
            f"the store refuses the password: {_sentence(error)}. "
            "Check KOALA_REDIS_USER and KOALA_REDIS_PASSWORD(_FILE)"
        ) from error
    except AWAY as error:
        raise StoreAway(f"the store does not answer: {_sentence(error)}") from error
    except redis.exceptions.ResponseError as error:
        if isinstance(error, FULL) or str(error).startswith(CANNOT_WRITE):
            raise StoreAway(f"the store cannot write: {_sentence(error)}") from error
        if forbidden(error):
            raise StoreForbidden(
                f"the store's access list forbids this: {_sentence(error)}. "
                "Make users.acl again with this version's `secrets`, and restart Redis"
            ) from error
        raise


def forbidden(error: redis.exceptions.ResponseError) -> bool:
    """Whether a command, a key or something inside a script is not for our user."""
    return isinstance(error, redis.exceptions.NoPermissionError) or str(error).startswith(FORBIDDEN)


def _sentence(error: Exception) -> str:
    return str(error).rstrip(".")


class _Pipeline(Pipeline):
    def execute(self, raise_on_error: bool = True) -> list[Any]:
        with named():
            return super().execute(raise_on_error)


class Client(redis.Redis):
    """Answers in text, within the timeout, or raises StoreAway or StoreUnsafe."""

    def execute_command(self, *args: Any, **options: Any) -> Any:
        with named():
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]

    def pipeline(self, transaction: bool = True, shard_hint: Any = None) -> Pipeline:
        return _Pipeline(self.connection_pool, self.response_callbacks, transaction, shard_hint)


def client_for(url: str, password: str | None = None, user: str = "", timeout_s: float = 1.0) -> Client:
    """A client without retries, for one slow call must not outlast a lease. Connects at its first call.

    Text that is no Unicode (half a surrogate pair, out of a page or an argument) is written with question marks: a
    write that matters must not fail for it. Raises SettingsError for an address that cannot be one.
    """
    try:
        client = _client(url, password, user, timeout_s)
        client.connection_pool.connection_class(**client.connection_pool.connection_kwargs)  # it does not connect yet
    except (ValueError, TypeError) as error:
        raise SettingsError(f"KOALA_REDIS_URL is wrong: {error}") from None
    return client


def _client(url: str, password: str | None, user: str, timeout_s: float) -> Client:
    client = Client.from_url(
        url,
        username=user or None,
        password=password,
        decode_responses=True,
        encoding_errors="replace",
        socket_timeout=timeout_s,
        socket_connect_timeout=timeout_s,
        retry=Retry(NoBackoff(), 0),
        health_check_interval=0,
        driver_info=None,  # not everybody's access list lets a client say what it is
    )
    assert isinstance(client, Client)  # noqa: S101 - redis-py's own type says only Redis
    return client
