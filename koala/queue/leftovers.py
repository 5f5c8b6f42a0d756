"""Finding the jobs that dead seats left behind."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import redis
from rq.job import JOB_ID_PATTERN
from rq.queue import Queue
from rq.worker_registration import clean_worker_registry

from koala.logs import log
from koala.queue.connection import outages, shown
from koala.queue.contents import carried, purge, seen_key
from koala.queue.job import queue_of

GRACE_S = 3.0
"""How long a job may be without a live attempt: far longer than a seat needs from its pop to its lease."""

_SEEN_MS = 86_400_000


@outages
def sweep(connection: redis.Redis, queue: str, alive: Callable[[str], bool], *, grace_s: float = GRACE_S) -> list[str]:
    """Remove the jobs that are taken, started or ended at RQ after `alive(job_id)` said no for a grace.

    Returns their ids, for the task records to decide what becomes of them; empty when all is well. The grace
    runs by Redis's clock from the first sweep that saw the job so, and is kept there: any process may do the
    next sweep. Not atomic, and safe beside living seats: what is removed too early is only delivered twice.
    Jobs that wait are left alone. Workers whose record has expired are dropped from RQ's lists too.
    """
    line = queue_of(connection, queue)
    now = carried(connection, queue)
    held = (now.taken | now.started | now.ended) - now.waiting
    ours = {job_id for job_id in held if JOB_ID_PATTERN.fullmatch(job_id)}
    living = {job_id for job_id in ours if alive(job_id)}
    dead = _without_life(line, living, sorted(ours - living), grace_s)
    _remove(connection, queue, (held - ours) | set(dead))
    clean_worker_registry(line)
    return dead


def _without_life(queue: Queue, living: Iterable[str], suspects: list[str], grace_s: float) -> list[str]:
    """Those of `suspects` that were seen as such for `grace_s`; notes the rest as seen now, or as living."""
    with queue.connection.pipeline() as pipe:
        for job_id in suspects:
            pipe.set(seen_key(queue, job_id), "1", nx=True, px=_SEEN_MS)
            pipe.pttl(seen_key(queue, job_id))
        for job_id in living:
            pipe.delete(seen_key(queue, job_id))
        left_ms = pipe.execute()[1 : 2 * len(suspects) : 2]
    ages_ms = {job_id: _SEEN_MS - left for job_id, left in zip(suspects, left_ms, strict=True)}
    return [job_id for job_id, age_ms in ages_ms.items() if age_ms >= grace_s * 1000]


def _remove(connection: redis.Redis, queue: str, job_ids: Iterable[str]) -> None:
    for job_id in job_ids:
        purge(connection, queue, job_id)
        log().warning("job_swept", queue=queue, job_id=shown(job_id))
