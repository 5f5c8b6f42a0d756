"""What dead seats leave behind is found, and nothing else."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from redis import Redis
from structlog.testing import capture_logs

from koala.queue import Delivery, Seat, carried, push, sweep, waiting

QUEUE = "koala-test"

TAKER = """
import sys, threading
from koala.queue import Seat, connect
url, queue, state = sys.argv[1:]
seat = Seat(connect(url), queue, "doomed")
seat.register()
delivery = seat.take(2)
if state == "started":
    seat.started(delivery)
print(delivery.job_id, flush=True)
threading.Event().wait()
"""


def nobody(_job_id: str) -> bool:
    return False


def take_and_die(redis_url: str, state: str) -> str:
    """A process takes the next job and is SIGKILLed in this state; the job's id."""
    command = [sys.executable, "-c", TAKER, redis_url, QUEUE, state]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout
            job_id = process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGKILL)
    return job_id


@pytest.mark.parametrize("state", ["taken", "started"])
def test_the_job_of_a_killed_process_is_found(rq_client: Redis, redis_url: str, state: str) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    assert take_and_die(redis_url, state) == "job-1"
    assert getattr(carried(rq_client, QUEUE), state) == {"job-1"}
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == ["job-1"]
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == []
    assert not [key for key in rq_client.keys("*") if b"job-1" in key]


def test_a_swept_job_can_be_pushed_and_taken_again(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    seat.take(0)
    sweep(rq_client, QUEUE, nobody, grace_s=0)
    push(rq_client, QUEUE, "task-1", "job-1")
    assert seat.take(0) == Delivery("job-1", "task-1")


def test_a_job_with_a_live_attempt_is_left_alone(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = seat.take(0)
    assert delivery
    seat.started(delivery)
    assert sweep(rq_client, QUEUE, {"job-1"}.__contains__, grace_s=0) == []
    assert carried(rq_client, QUEUE).started == {"job-1"}


def test_a_job_on_its_way_to_its_lease_is_left_alone(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    Seat(rq_client, QUEUE, "seat").take(0)
    assert sweep(rq_client, QUEUE, nobody, grace_s=60) == []
    assert carried(rq_client, QUEUE).taken == {"job-1"}


def test_the_grace_runs_from_the_first_sweep_that_saw_the_job_so(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    Seat(rq_client, QUEUE, "seat").take(0)
    sweep(rq_client, QUEUE, nobody, grace_s=60)
    mark = f"rq:queue:{QUEUE}:intermediate:first_seen:job-1"
    rq_client.pexpire(mark, rq_client.pttl(mark) - 59_000)
    assert sweep(rq_client, QUEUE, nobody, grace_s=60) == []
    rq_client.pexpire(mark, rq_client.pttl(mark) - 1_000)
    assert sweep(rq_client, QUEUE, nobody, grace_s=60) == ["job-1"]


def test_the_grace_begins_anew_when_the_job_has_started(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = seat.take(0)
    assert delivery
    sweep(rq_client, QUEUE, nobody, grace_s=60)
    seat.started(delivery)
    assert not [key for key in rq_client.keys("*") if b"first_seen" in key]


def test_the_grace_begins_anew_when_the_job_was_alive_meanwhile(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    Seat(rq_client, QUEUE, "seat").take(0)
    sweep(rq_client, QUEUE, nobody, grace_s=60)
    sweep(rq_client, QUEUE, {"job-1"}.__contains__, grace_s=60)
    assert not rq_client.keys("*first_seen*")


def test_a_job_that_waits_again_is_left_alone(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    rq_client.zadd("rq:wip:" + QUEUE, {"job-1:old": 1})
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == []
    assert waiting(rq_client, QUEUE) == {"job-1"}


def test_waiting_jobs_are_left_alone(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == []
    assert waiting(rq_client, QUEUE) == {"job-1"}


@pytest.mark.parametrize("registry", ["failed", "canceled"])
def test_a_job_that_something_else_ended_is_found(rq_client: Redis, registry: str) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    rq_client.delete("rq:queue:" + QUEUE)
    rq_client.zadd(f"rq:{registry}:{QUEUE}", {"job-1": 9e9})
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == ["job-1"]
    assert rq_client.keys() == [b"rq:queues"]


def test_a_stock_worker_can_only_return_a_job(rq_client: Redis, redis_url: str) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    command = [sys.executable, "-m", "rq.cli", "worker", "--burst", "--url", redis_url, "-S", "json", QUEUE]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert sweep(rq_client, QUEUE, nobody, grace_s=0) == ["job-1"]
    assert not [key for key in rq_client.keys("*") if b"job-1" in key]


def test_what_cannot_be_a_job_is_removed_and_not_reported(rq_client: Redis) -> None:
    rq_client.rpush(f"rq:queue:{QUEUE}:intermediate", b"\xff", "no:id", "")
    with capture_logs() as lines:
        assert sweep(rq_client, QUEUE, nobody, grace_s=60) == []
    assert rq_client.keys() == []
    assert {line["event"] for line in lines} == {"job_swept"}
    assert all(str(line["job_id"]).isascii() for line in lines)


def test_a_worker_whose_record_expired_is_dropped_from_the_lists(rq_client: Redis) -> None:
    Seat(rq_client, QUEUE, "seat").register()
    rq_client.delete("rq:worker:seat")
    sweep(rq_client, QUEUE, nobody)
    assert rq_client.keys() == [b"rq:queues"]
