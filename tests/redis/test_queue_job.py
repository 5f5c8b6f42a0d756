"""Handing tasks to RQ and taking them out again."""

from __future__ import annotations

import json
import zlib

import pytest
from redis import Redis

from koala.errors import Refused
from koala.queue import JOB_FUNCTION, Delivery, Seat, carried, purge, push, run_task, waiting, withdraw

QUEUE = "koala-test"


def test_a_job_pushed_twice_is_one_job(rq_client: Redis) -> None:
    assert push(rq_client, QUEUE, "task-1", "job-1")
    assert not push(rq_client, QUEUE, "task-1", "job-1")
    assert rq_client.lrange("rq:queue:" + QUEUE, 0, -1) == [b"job-1"]


@pytest.mark.parametrize("state", ["taken", "started"])
def test_a_job_in_a_seats_hands_is_not_pushed_again(rq_client: Redis, state: str) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = seat.take(0)
    assert delivery
    if state == "started":
        seat.started(delivery)
    assert not push(rq_client, QUEUE, "task-1", "job-1")
    assert waiting(rq_client, QUEUE) == set()


def test_a_hash_left_behind_does_not_keep_its_job_from_being_pushed(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-old", "job-1")
    rq_client.delete("rq:queue:" + QUEUE)
    rq_client.hset("rq:job:job-1", "exc_info", "of old")
    assert push(rq_client, QUEUE, "task-1", "job-1")
    assert not rq_client.hexists("rq:job:job-1", "exc_info")
    assert Seat(rq_client, QUEUE, "seat").take(0) == Delivery("job-1", "task-1")


def test_jobs_come_out_in_the_order_in_which_they_went_in(rq_client: Redis) -> None:
    for number in range(5):
        push(rq_client, QUEUE, f"task-{number}", f"job-{number}")
    seat = Seat(rq_client, QUEUE, "seat")
    assert [seat.take(0) for _ in range(5)] == [Delivery(f"job-{n}", f"task-{n}") for n in range(5)]


def test_a_job_is_json_and_says_nothing_but_the_task(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    data = zlib.decompress(rq_client.hget("rq:job:job-1", "data") or b"")
    assert json.loads(data) == [JOB_FUNCTION, None, ["task-1"], {}]


def test_a_job_has_no_time_limit_and_is_forgotten_by_itself(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    assert rq_client.hget("rq:job:job-1", "timeout") == b"-1"
    assert rq_client.ttl("rq:job:job-1") > 3600


def test_a_job_id_that_rq_could_not_parse_is_refused(rq_client: Redis) -> None:
    with pytest.raises(ValueError, match="Job ID"):
        push(rq_client, QUEUE, "task-1", "job:1")


def test_waiting_names_the_jobs_of_that_queue_only(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    push(rq_client, "koala-other", "task-2", "job-2")
    assert waiting(rq_client, QUEUE) == {"job-1"}
    assert waiting(rq_client, "koala-unknown") == set()


def test_carried_says_where_each_job_is(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    for name in ("started", "taken", "waiting"):
        push(rq_client, QUEUE, "task", name)
    first = seat.take(0)
    assert first
    seat.started(first)
    seat.take(0)
    rq_client.zadd("rq:failed:" + QUEUE, {"failed": 1})
    now = carried(rq_client, QUEUE)
    assert (now.waiting, now.taken, now.started, now.ended) == (
        {"waiting"},
        {"taken"},
        {"started"},
        {"failed"},
    )


def test_a_withdrawn_job_is_gone(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    assert withdraw(rq_client, QUEUE, "job-1")
    assert rq_client.keys() == [b"rq:queues"]
    assert not withdraw(rq_client, QUEUE, "job-1")


def test_a_job_in_a_seats_hands_cannot_be_withdrawn(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    Seat(rq_client, QUEUE, "seat").take(0)
    assert not withdraw(rq_client, QUEUE, "job-1")
    assert rq_client.exists("rq:job:job-1")


def test_a_purged_job_leaves_nothing_behind_wherever_it_was(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    push(rq_client, QUEUE, "task-1", "job-1")
    delivery = seat.take(0)
    assert delivery
    seat.started(delivery)
    seat.leave()
    purge(rq_client, QUEUE, "job-1")
    purge(rq_client, QUEUE, "job-unknown")
    assert rq_client.keys() == [b"rq:queues"]


def test_the_job_function_itself_refuses_to_run() -> None:
    with pytest.raises(Refused, match="python -m worker"):
        run_task("task-1")
