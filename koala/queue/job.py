"""A job: the name of a task, on its way to a worker."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Any, NoReturn

import redis
from redis.exceptions import RedisError
from rq.executions import ExecutionRegistry
from rq.job import Job, JobStatus
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.utils import now

from koala.errors import Refused
from koala.queue.connection import outages

JOB_FUNCTION = "koala.queue.run_task"
"""The one function a job may name."""

JOB_TTL_S = 86_400
"""A job that nobody takes or finishes is forgotten after this long; its task is not, and gets another job."""

_PUSH = files(__package__).joinpath("push.lua").read_text("utf-8")


@dataclass(frozen=True)
class Delivery:
    """A job in a worker's hands."""

    job_id: str
    task_id: str


def run_task(task_id: str) -> NoReturn:
    """What a job names. Koala's workers never call it: a stock `rq worker` that does so is refused."""
    raise Refused(f"task {task_id} is not for a stock rq worker: start Koala's own, python -m worker")


@outages
def push(connection: redis.Redis, queue: str, task_id: str, job_id: str) -> bool:
    """Hand a task to RQ as job `job_id` (letters, digits, `-` and `_`; ValueError otherwise).

    Atomic. True: the job is in the queue now. False: RQ carries it already, waiting, taken or started, and
    nothing changed; so it may be repeated after an outage.
    """
    job = _make(connection, queue, task_id, job_id)
    line = queue_of(connection, queue)
    keys = [job.key, line.key, line.intermediate_queue_key, _executions_key(job), Queue.redis_queues_keys]
    args = [job_id, JOB_TTL_S, *(part for field in job.to_dict().items() for part in field)]
    return bool(connection.register_script(_PUSH)(keys=keys, args=args))


def queue_of(connection: redis.Redis, name: str) -> Queue:
    """RQ's view of a queue. Only made here: without the serializer RQ would write and load pickle."""
    return Queue(name, connection=connection, serializer=JSONSerializer)


def read(queue: Queue, job_id: str) -> Delivery | None:
    """What the job says; None when it is gone, not one of ours, or unreadable. Nothing of it is executed."""
    try:
        job = Job.fetch(job_id, connection=queue.connection, serializer=queue.serializer)
        return _delivery(job_id, job.func_name, job.args, job.kwargs)
    except RedisError as error:
        if "WRONGTYPE" not in str(error):
            raise
    except Exception:  # noqa: BLE001 - what others wrote may fail in RQ's hands in any way
        return None
    return None


def _delivery(job_id: str, function: Any, args: Any, kwargs: Any) -> Delivery | None:
    if function != JOB_FUNCTION or kwargs or len(args) != 1 or not isinstance(args[0], str):
        return None
    return Delivery(job_id, args[0])


def _make(connection: redis.Redis, queue: str, task_id: str, job_id: str) -> Job:
    job = Job.create(
        JOB_FUNCTION,
        args=[task_id],
        id=job_id,
        origin=queue,
        connection=connection,
        serializer=JSONSerializer,
        status=JobStatus.QUEUED,
        description=f"task {task_id}",
        timeout=-1,  # deadlines are the parent's, never RQ's alarm
        ttl=JOB_TTL_S,
        result_ttl=0,
        failure_ttl=JOB_TTL_S,
    )
    job.enqueued_at = now()
    return job


def _executions_key(job: Job) -> str:
    return ExecutionRegistry(job.id, job.connection).key
