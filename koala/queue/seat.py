"""A seat: one slot's place at RQ."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import redis
from redis.client import Pipeline
from rq.executions import Execution
from rq.worker import WorkerStatus

from koala.logs import log
from koala.queue import contents, execution
from koala.queue.badge import Badge
from koala.queue.connection import outages, shown, text
from koala.queue.job import Delivery, queue_of, read

LONGEST_TAKE_S = 2.0
"""The longest wait in one `take`, well below the socket's timeout."""

KEY_TTL_S = 60
"""A seat without a heartbeat for this long is gone from RQ's lists."""


class Seat:
    """Takes jobs from one queue and shows RQ's tools what its slot does.

    `name` must be new with each start of the slot. Making a seat does not talk to Redis. One thread may take
    while another sends heartbeats.
    """

    def __init__(self, connection: redis.Redis, queue: str, name: str, *, key_ttl_s: int = KEY_TTL_S) -> None:
        self.name = name
        self._connection = connection
        self._queue = queue_of(connection, queue)
        self._badge = Badge(self._queue, name)
        self._key_ttl_s = key_ttl_s
        self._execution: Execution | None = None
        self._left = False
        self._turn = threading.Lock()  # a late heartbeat must not bring back what `finished` has removed

    def register(self) -> None:
        """Appear among RQ's workers. Atomic; may be repeated. The first heartbeat would do it as well."""
        self.heartbeat(WorkerStatus.STARTED.value)

    @outages
    def heartbeat(self, state: str = "") -> None:
        """Stay among RQ's workers for another `key_ttl_s`, as `state` (by default busy or idle, as it is).

        Atomic, and writes everything anew: whatever Redis has lost of this seat is there again afterwards.
        """
        with self._change() as pipe:
            self._show(pipe, state)

    @outages
    def take(self, timeout_s: float) -> Delivery | None:
        """The queue's next job; waits at most `timeout_s` and `LONGEST_TAKE_S`, with 0 not at all.

        None when there was none, or only a job that is not one of ours: that one is removed, and nothing
        of it is executed. The job stays noted as taken until `started` or `finished`; when this process
        dies before, the sweep finds it there.
        """
        job_id = self._pop(min(timeout_s, LONGEST_TAKE_S))
        if job_id is None:
            return None
        delivery = read(self._queue, job_id)
        if delivery is None:
            contents.purge(self._connection, self._queue.name, job_id)
            log().warning("job_ignored", queue=self._queue.name, job_id=shown(job_id))
        return delivery

    @outages
    def started(self, delivery: Delivery) -> None:
        """Show the job as executing here, and the seat as busy. Atomic; may be repeated."""
        with self._change() as pipe:
            if self._execution is None or self._execution.job_id != delivery.job_id:
                self._execution = execution.new(self._queue, delivery.job_id, self.name)
            pipe.lrem(self._queue.intermediate_queue_key, 0, delivery.job_id)
            pipe.delete(contents.seen_key(self._queue, delivery.job_id))
            execution.begin(pipe, self._queue, self._execution)
            self._show(pipe)

    @outages
    def finished(self, delivery: Delivery) -> None:
        """Remove every trace of the job, started or not; the seat is idle. Atomic; may be repeated."""
        executions = execution.running(self._queue, delivery.job_id)
        with self._change() as pipe:
            contents.erase(pipe, self._queue, delivery.job_id, executions)
            if self._execution is not None and not self._left:
                self._badge.done(pipe)
            self._execution = None
            self._show(pipe)

    @outages
    def leave(self) -> None:
        """Disappear from RQ's workers for good: no later call of this seat makes it appear again.

        Atomic; may be repeated. A job still in hand is left to the sweep.
        """
        self._left = True
        with self._change() as pipe:
            self._badge.remove(pipe)

    @contextmanager
    def _change(self) -> Iterator[Pipeline]:
        """One transaction, and no other of this seat at the same time."""
        with self._turn, self._connection.pipeline() as pipe:
            yield pipe
            pipe.execute()

    def _show(self, pipe: Pipeline, state: str = "") -> None:
        if self._left:
            return
        usual = WorkerStatus.BUSY if self._execution else WorkerStatus.IDLE
        self._badge.show(pipe, state or usual.value, self._key_ttl_s)
        if self._execution is not None:
            execution.show(pipe, self._queue, self._execution, self._key_ttl_s)

    def _pop(self, timeout_s: float) -> str | None:
        source, target = self._queue.key, self._queue.intermediate_queue_key
        if timeout_s > 0:
            raw = self._connection.blmove(source, target, timeout_s)  # type: ignore[arg-type]  # takes parts of a second
        else:
            raw = self._connection.lmove(source, target)
        return None if raw is None else text(raw)
