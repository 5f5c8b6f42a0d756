"""What RQ's tools see of a job that runs."""

from __future__ import annotations

from uuid import uuid4

from redis.client import Pipeline
from rq.executions import Execution, ExecutionRegistry
from rq.job import Job
from rq.queue import Queue
from rq.utils import now

from koala.queue.connection import text
from koala.queue.job import JOB_TTL_S


def new(queue: Queue, job_id: str, seat: str) -> Execution:
    """An execution of the job in the seat of that name; nothing is written."""
    return Execution(uuid4().hex, job_id, queue.connection, seat)


def running(queue: Queue, job_id: str) -> list[Execution]:
    """The job's executions that RQ shows, those of dead seats too."""
    members = queue.connection.zrange(queue.started_job_registry.key, 0, -1)
    pairs = (text(raw).partition(":") for raw in members)
    return [Execution(own, job, queue.connection) for job, _, own in pairs if job == job_id]


def begin(pipe: Pipeline, queue: Queue, execution: Execution) -> None:
    """Mark the job as started in `pipe`."""
    job = Job(execution.job_id, connection=queue.connection, serializer=queue.serializer)
    job.prepare_for_execution(execution.worker_name, pipe)
    pipe.expire(job.key, JOB_TTL_S)  # also when the flush of a moment ago left only these fields


def show(pipe: Pipeline, queue: Queue, execution: Execution, ttl_s: int) -> None:
    """Write the execution's records in `pipe`, anew or again.

    In the registry of started jobs it has no end: RQ's tools call a job failed when its end there is past.
    """
    execution.last_heartbeat = now()
    execution.save(ttl_s, pipe)
    ExecutionRegistry(execution.job_id, queue.connection).add(execution, ttl_s, pipe)
    queue.started_job_registry.add_execution(execution, pipe, ttl=-1)
    pipe.sadd(execution.worker_executions_key, execution.composite_key)
    pipe.expire(execution.worker_executions_key, ttl_s)


def erase(pipe: Pipeline, queue: Queue, job_id: str, executions: list[Execution]) -> None:
    """Remove the job's `executions` in `pipe`, all but from the seat's own list."""
    for execution in executions:
        pipe.delete(execution.key)
        pipe.zrem(queue.started_job_registry.key, execution.composite_key)
    pipe.delete(ExecutionRegistry(job_id, queue.connection).key)
