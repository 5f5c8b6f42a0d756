"""What RQ carries at this moment, and taking a job out again."""

from __future__ import annotations

from dataclasses import dataclass

import redis
from redis.client import Pipeline
from rq.executions import Execution
from rq.job import Job
from rq.queue import Queue
from rq.registry import CanceledJobRegistry, FailedJobRegistry
from rq.results import Result

from koala.queue import execution
from koala.queue.connection import outages, text
from koala.queue.job import queue_of


@dataclass(frozen=True)
class Carried:
    """All job ids of a queue at one instant, by where they are."""

    waiting: frozenset[str]
    taken: frozenset[str]
    """Popped by a seat, and not yet started."""
    started: frozenset[str]
    """Executing, if the seat is still alive."""
    ended: frozenset[str]
    """Called failed or cancelled by something that is not Koala."""


@outages
def waiting(connection: redis.Redis, queue: str) -> set[str]:
    """The job ids in the queue that nobody has taken yet. Empty for an unknown queue."""
    return {text(raw) for raw in connection.lrange(queue_of(connection, queue).key, 0, -1)}


@outages
def carried(connection: redis.Redis, queue: str) -> Carried:
    """Where every job of the queue is, in one atomic look: one that moves meanwhile is not missed."""
    line = queue_of(connection, queue)
    with connection.pipeline() as pipe:
        pipe.lrange(line.key, 0, -1)
        pipe.lrange(line.intermediate_queue_key, 0, -1)
        for registry in (line.started_job_registry.key, *_ended(line)):
            pipe.zrange(registry, 0, -1)
        wait, taken, pairs, failed, cancelled = (frozenset(map(text, reply)) for reply in pipe.execute())
    return Carried(wait, taken, frozenset(pair.partition(":")[0] for pair in pairs), failed | cancelled)


@outages
def withdraw(connection: redis.Redis, queue: str, job_id: str) -> bool:
    """Take a waiting job out of the queue. False when it does not wait there: a seat may have it by now."""
    if not connection.lrem(queue_of(connection, queue).key, 0, job_id):
        return False
    purge(connection, queue, job_id)
    return True


@outages
def purge(connection: redis.Redis, queue: str, job_id: str) -> None:
    """Remove every trace of a job, wherever it is. Nothing happens when there is none."""
    line = queue_of(connection, queue)
    executions = execution.running(line, job_id)
    with connection.pipeline() as pipe:
        erase(pipe, line, job_id, executions)
        pipe.execute()


def erase(pipe: Pipeline, queue: Queue, job_id: str, executions: list[Execution]) -> None:
    """Remove a job and its `executions` in `pipe` from every place where RQ could hold them."""
    pipe.lrem(queue.key, 0, job_id)
    pipe.lrem(queue.intermediate_queue_key, 0, job_id)
    for registry in _ended(queue):
        pipe.zrem(registry, job_id)
    execution.erase(pipe, queue, job_id, executions)
    pipe.delete(Job.key_for(job_id), Job.dependents_key_for(job_id))
    pipe.delete(_results_key(job_id), seen_key(queue, job_id))


def seen_key(queue: Queue, job_id: str) -> str:
    """Where the sweep notes since when a job is without a live attempt."""
    return queue.intermediate_queue.get_first_seen_key(job_id)


def _results_key(job_id: str) -> str:
    key: str = Result.get_key(job_id)  # type: ignore[no-untyped-call]
    return key


def _ended(queue: Queue) -> tuple[str, str]:
    return FailedJobRegistry(queue=queue).key, CanceledJobRegistry(queue=queue).key
