"""What RQ would list for ever: queues that nobody serves any more, and workers that died."""

from __future__ import annotations

from collections.abc import Container

import redis
from rq import worker_registration
from rq.queue import Queue

from koala.queue.connection import outages, text
from koala.queue.contents import carried, purge
from koala.queue.job import queue_of

OURS = "koala-"
"""What the names of Koala's queues begin with."""


@outages
def forget(connection: redis.Redis, queue: str) -> None:
    """Remove a queue that nobody serves, with its jobs; their tasks are not touched. May be repeated.

    Whoever pushes to it, or sits at it, makes it appear again.
    """
    line, found = queue_of(connection, queue), carried(connection, queue)
    for job_id in found.waiting | found.taken:
        purge(connection, queue, job_id)
    with connection.pipeline() as pipe:
        pipe.srem(Queue.redis_queues_keys, line.key)
        pipe.delete(worker_registration.WORKERS_BY_QUEUE_KEY % line.name)
        pipe.execute()


@outages
def tidy(connection: redis.Redis, served: Container[str]) -> int:
    """Forget our queues that nobody serves; how many there were. Workers that died go from every list."""
    listed = connection.smembers(Queue.redis_queues_keys)
    names = [text(key).removeprefix(Queue.redis_queue_namespace_prefix) for key in listed]
    ours = [name for name in names if name.startswith(OURS)]
    for name in ours:
        worker_registration.clean_worker_registry(queue_of(connection, name))
    unserved = [name for name in ours if name not in served]
    for name in unserved:
        forget(connection, name)
    return len(unserved)
