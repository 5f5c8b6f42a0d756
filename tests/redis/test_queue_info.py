"""RQ's own tool shows the pool, and changes nothing by looking."""

from __future__ import annotations

import subprocess
import sys

from redis import Redis

from koala.queue import Delivery, Seat, carried, push

QUEUE = "koala-test"


def rq_info(redis_url: str) -> str:
    command = [sys.executable, "-m", "rq.cli", "info", "--url", redis_url, "--raw"]
    return subprocess.run(command, capture_output=True, check=True, text=True, timeout=60).stdout


def busy_seat(client: Redis) -> tuple[Seat, Delivery]:
    seat = Seat(client, QUEUE, "shop-1")
    push(client, QUEUE, "task-1", "job-1")
    delivery = seat.take(0)
    assert delivery
    seat.started(delivery)
    return seat, delivery


def test_rq_info_shows_queue_workers_and_jobs(rq_client: Redis, redis_url: str) -> None:
    seat, delivery = busy_seat(rq_client)
    Seat(rq_client, QUEUE, "shop-2").heartbeat()
    push(rq_client, QUEUE, "task-2", "job-2")
    shown = rq_info(redis_url)
    assert f"queue {QUEUE} 1, 1 executing, 0 finished, 0 failed" in shown
    assert "worker shop-1" in shown
    assert f"busy {QUEUE}. jobs: 0 finished" in shown
    assert "worker shop-2" in shown
    assert f"idle {QUEUE}. jobs: 0 finished" in shown
    seat.finished(delivery)
    shown = rq_info(redis_url)
    assert f"queue {QUEUE} 1, 0 executing, 0 finished, 0 failed" in shown
    assert f"idle {QUEUE}. jobs: 1 finished" in shown


def test_rq_info_shows_an_empty_queue_that_a_seat_waits_at(rq_client: Redis, redis_url: str) -> None:
    Seat(rq_client, QUEUE, "shop-1").register()
    assert f"queue {QUEUE} 0, 0 executing" in rq_info(redis_url)


def test_looking_does_not_make_a_dead_seats_job_fail(rq_client: Redis, redis_url: str) -> None:
    busy_seat(rq_client)
    rq_client.delete("rq:worker:shop-1", *rq_client.keys("rq:execution*"))
    assert "1 executing, 0 finished, 0 failed" in rq_info(redis_url)
    assert carried(rq_client, QUEUE).started == {"job-1"}
