"""What RQ's tools see of a worker."""

from __future__ import annotations

import os
import socket

import redis
from redis.client import Pipeline
from rq import worker_registration
from rq.queue import Queue
from rq.serializers import JSONSerializer
from rq.utils import now
from rq.worker import BaseWorker


class Badge(BaseWorker):
    """RQ's record of a worker. Its loop, signal handlers, maintenance and remote channel stay unused."""

    def __init__(self, queue: Queue, name: str) -> None:
        super().__init__([queue], name, connection=queue.connection, serializer=JSONSerializer, prepare_for_work=False)
        self.hostname, self.pid = socket.gethostname(), os.getpid()
        self.birth_date = now()

    def _set_connection(self, connection: redis.Redis) -> redis.Redis:
        return connection  # RQ would raise the timeout of the client

    def show(self, pipe: Pipeline, state: str, ttl_s: int) -> None:
        """Write the whole record in `pipe`, anew or again, for `ttl_s` from now."""
        self.last_heartbeat = now()
        pipe.hset(self.key, mapping={**self.serialize(), "state": state})
        pipe.expire(self.key, ttl_s)
        worker_registration.register(self, pipe)
        pipe.sadd(Queue.redis_queues_keys, *self.queue_keys())

    def done(self, pipe: Pipeline) -> None:
        """Count one job more as done, and list none as executing, in `pipe`."""
        self.increment_successful_job_count(pipe)
        pipe.delete(self.executions_key)

    def remove(self, pipe: Pipeline) -> None:
        """Remove the record in `pipe`."""
        worker_registration.unregister(self, pipe)
        pipe.delete(self.key, self.executions_key)
