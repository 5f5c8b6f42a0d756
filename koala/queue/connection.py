"""RQ's own Redis client, and what counts as an outage of it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

import redis
from redis.backoff import NoBackoff
from redis.exceptions import (
    ClusterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    ResponseError,
    TryAgainError,
)
from redis.maint_notifications import MaintNotificationsConfig
from redis.retry import Retry

from koala.errors import StoreForbidden

SOCKET_TIMEOUT_S = 4.0
"""How long one call can hang on a Redis that is frozen or out of reach."""

CONNECT_TIMEOUT_S = 2.0

_AWAY = (ClusterDownError, OutOfMemoryError, ReadOnlyError, TryAgainError)
_AWAY_CODES = ("MISCONF", "NOREPLICAS", "UNBLOCKED")

P = ParamSpec("P")
R = TypeVar("R")


def connect(redis_url: str, password: str | None = None, user: str = "") -> redis.Redis:
    """A client for this package; it connects at its first use.

    It answers in bytes, as RQ needs, and tries nothing twice: whoever calls decides about that. Maintenance
    notices are off because with them redis-py also uses a pooled connection that holds an unread reply.
    """
    return redis.Redis.from_url(
        redis_url,
        username=user or None,
        password=password,
        socket_timeout=SOCKET_TIMEOUT_S,
        socket_connect_timeout=CONNECT_TIMEOUT_S,
        retry=Retry(NoBackoff(), 0),
        maint_notifications_config=MaintNotificationsConfig(enabled=False),
        encoding_errors="surrogateescape",
        driver_info=None,  # not everybody's access list lets a client say what it is
    )


def text(raw: object) -> str:
    """A reply of `connect`'s client as text. What is not UTF-8 survives the way back to Redis too."""
    if not isinstance(raw, bytes):
        raise TypeError("this package's own client is needed, the one that answers in bytes: use connect()")
    return raw.decode("utf-8", "surrogateescape")


def shown(job_id: str) -> str:
    """A job id for a log line, whatever others have written there."""
    return job_id[:80].encode("ascii", "backslashreplace").decode()


def outages(call: Callable[P, R]) -> Callable[P, R]:
    """Make a server that answers but cannot write now (disk or memory full, a replica) look like one away.

    What the store's access list does not let our user do raises StoreForbidden.
    """

    @functools.wraps(call)
    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except ResponseError as error:
            if isinstance(error, NoPermissionError):
                raise StoreForbidden(f"the store's access list forbids what RQ needs: {error}") from error
            if not _is_outage(error):
                raise
            raise redis.exceptions.ConnectionError(str(error)) from error

    return guarded


def _is_outage(error: ResponseError) -> bool:
    return isinstance(error, _AWAY) or any(code in str(error) for code in _AWAY_CODES)
