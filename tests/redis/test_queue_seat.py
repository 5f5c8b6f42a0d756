"""A seat takes jobs, and RQ's records show what it does."""

from __future__ import annotations

import json
import pickle
import threading
import zlib
from pathlib import Path

import pytest
from redis import Redis
from redis.client import Pipeline
from rq import Worker

from koala.queue import JOB_FUNCTION, Delivery, Seat, carried, connect, push

QUEUE = "koala-test"
LIST = "rq:queue:" + QUEUE
BOOKKEEPING = {b"rq:queues", b"rq:workers", b"rq:workers:koala-test", b"rq:worker:seat"}


class Trap:
    """Unpickling it writes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def take(seat: Seat) -> Delivery:
    delivery = seat.take(0)
    assert delivery
    return delivery


def started(client: Redis, seat: Seat) -> Delivery:
    push(client, QUEUE, "task-1", "job-1")
    delivery = take(seat)
    seat.started(delivery)
    return delivery


def put_foreign(client: Redis, job_id: str, data: bytes) -> None:
    """A job as something else than Koala would enqueue it."""
    client.hset(f"rq:job:{job_id}", mapping={"data": zlib.compress(data), "origin": QUEUE, "status": "queued"})
    client.rpush(LIST, job_id)


def test_an_empty_queue_gives_nothing(rq_client: Redis) -> None:
    assert Seat(rq_client, QUEUE, "seat").take(0) is None
    assert Seat(rq_client, QUEUE, "seat").take(0.05) is None


def test_a_job_that_arrives_while_a_seat_waits_is_taken(rq_client: Redis, redis_url: str) -> None:
    taken: list[Delivery | None] = []

    def wait() -> None:
        seat = Seat(rq_client, QUEUE, "seat")
        taken.append(next(filter(None, (seat.take(2) for _ in range(10))), None))

    waiter = threading.Thread(target=wait)
    waiter.start()
    with connect(redis_url) as other:
        push(other, QUEUE, "task-1", "job-1")
    waiter.join()
    assert taken == [Delivery("job-1", "task-1")]


def test_two_seats_never_take_the_same_job(rq_client: Redis, redis_url: str) -> None:
    taken: list[Delivery] = []

    def work(name: str) -> None:
        with connect(redis_url) as client:
            seat = Seat(client, QUEUE, name)
            while delivery := seat.take(0):
                taken.append(delivery)
                seat.finished(delivery)

    for number in range(200):
        push(rq_client, QUEUE, f"task-{number}", f"job-{number}")
    seats = [threading.Thread(target=work, args=(f"seat-{number}",)) for number in range(4)]
    for thread in seats:
        thread.start()
    for thread in seats:
        thread.join()
    assert len(taken) == len(set(taken)) == 200


def test_a_pickled_job_is_removed_and_not_loaded(rq_client: Redis, tmp_path: Path) -> None:
    put_foreign(rq_client, "evil", pickle.dumps((JOB_FUNCTION, None, (Trap(tmp_path / "loaded"),), {})))
    assert Seat(rq_client, QUEUE, "seat").take(0) is None
    assert not (tmp_path / "loaded").exists()
    assert rq_client.keys() == []


@pytest.mark.parametrize(
    "call",
    [
        ["os.getpid", None, ["task-1"], {}],
        [JOB_FUNCTION, None, [], {}],
        [JOB_FUNCTION, None, [1], {}],
        [JOB_FUNCTION, None, ["task-1", "more"], {}],
        [JOB_FUNCTION, None, ["task-1"], {"more": 1}],
        [JOB_FUNCTION, None, 7, {}],
        "text",
        None,
    ],
    ids=str,
)
def test_a_job_that_calls_anything_else_is_removed(rq_client: Redis, call: object) -> None:
    put_foreign(rq_client, "foreign", json.dumps(call).encode())
    assert Seat(rq_client, QUEUE, "seat").take(0) is None
    assert rq_client.keys() == []


def test_a_job_without_a_readable_record_is_removed(rq_client: Redis) -> None:
    rq_client.set("rq:job:text", "not a hash")
    rq_client.hset("rq:job:empty", "status", "queued")
    rq_client.hset("rq:job:odd", mapping={"data": b"x", "status": "nonsense"})
    rq_client.hset("rq:job:never", mapping={"data": b"x", "timeout": "whenever"})
    rq_client.rpush(LIST, "gone", "text", "empty", "odd", "never", "no:id", b"\xff\xfe", "")
    seat = Seat(rq_client, QUEUE, "seat")
    assert [seat.take(0) for _ in range(9)] == [None] * 9
    assert rq_client.keys() == []


def test_registering_twice_is_as_good_as_once(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    seat.register()
    seat.register()
    assert set(rq_client.keys()) == BOOKKEEPING
    assert rq_client.hget("rq:worker:seat", "state") == b"started"


def test_a_heartbeat_keeps_the_workers_record(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat", key_ttl_s=60)
    seat.register()
    rq_client.expire("rq:worker:seat", 5)
    seat.heartbeat()
    assert rq_client.ttl("rq:worker:seat") > 50


def test_a_heartbeat_brings_back_all_that_was_lost(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    started(rq_client, seat)
    rq_client.flushall()
    seat.heartbeat()
    assert set(rq_client.keys()) >= BOOKKEEPING
    assert rq_client.hget("rq:worker:seat", "state") == b"busy"
    assert carried(rq_client, QUEUE).started == {"job-1"}


def test_the_state_is_what_the_slot_says_or_what_the_seat_does(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    seat.heartbeat("paused")
    assert rq_client.hget("rq:worker:seat", "state") == b"paused"
    delivery = started(rq_client, seat)
    assert rq_client.hget("rq:worker:seat", "state") == b"busy"
    seat.finished(delivery)
    assert rq_client.hget("rq:worker:seat", "state") == b"idle"


def test_a_hundred_finished_jobs_leave_only_the_workers_bookkeeping(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    for number in range(100):
        push(rq_client, QUEUE, f"task-{number}", f"job-{number}")
        delivery = take(seat)
        seat.started(delivery)
        seat.heartbeat()
        seat.finished(delivery)
    assert set(rq_client.keys()) == BOOKKEEPING
    assert rq_client.hget("rq:worker:seat", "successful_job_count") == b"100"


def test_a_job_can_be_finished_without_having_started_and_twice(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    push(rq_client, QUEUE, "task-1", "job-1")
    delivery = take(seat)
    seat.finished(delivery)
    seat.finished(delivery)
    assert set(rq_client.keys()) == BOOKKEEPING


def test_finishing_clears_what_an_earlier_seat_showed_of_the_same_job(rq_client: Redis) -> None:
    started(rq_client, Seat(rq_client, QUEUE, "dead"))
    rq_client.rpush(LIST, "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = take(seat)
    seat.started(delivery)
    seat.finished(delivery)
    assert carried(rq_client, QUEUE).started == set()


def test_a_started_job_stays_shown_however_long_it_runs(rq_client: Redis) -> None:
    started(rq_client, Seat(rq_client, QUEUE, "seat"))
    ((_, end),) = rq_client.zrange("rq:wip:" + QUEUE, 0, -1, withscores=True)
    assert end == float("inf")


def test_a_job_started_twice_is_shown_once(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    seat.started(started(rq_client, seat))
    assert rq_client.zcard("rq:wip:" + QUEUE) == 1


def test_a_started_job_is_shown_with_its_worker(rq_client: Redis) -> None:
    started(rq_client, Seat(rq_client, QUEUE, "seat"))
    (worker,) = Worker.all(connection=rq_client)
    assert worker.get_current_job_id() == "job-1"
    assert rq_client.hget("rq:job:job-1", "status") == b"started"


def test_a_job_whose_record_was_lost_before_it_started_is_forgotten_by_itself(rq_client: Redis) -> None:
    push(rq_client, QUEUE, "task-1", "job-1")
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = take(seat)
    rq_client.flushall()
    seat.started(delivery)
    assert rq_client.ttl("rq:job:job-1") > 0


def test_a_heartbeat_that_is_late_does_not_bring_a_finished_job_back(
    rq_client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = started(rq_client, seat)
    in_heartbeat, go_on = threading.Event(), threading.Event()

    class Slow(Pipeline):
        def execute(self, raise_on_error: bool = True) -> list[object]:
            in_heartbeat.set()
            go_on.wait(30)
            return super().execute(raise_on_error)

    monkeypatch.setattr(rq_client, "pipeline", lambda: Slow(rq_client.connection_pool, {}, True, None))
    heartbeat = threading.Thread(target=seat.heartbeat)
    heartbeat.start()
    assert in_heartbeat.wait(30)
    monkeypatch.undo()
    finish = threading.Thread(target=seat.finished, args=(delivery,))
    finish.start()
    finish.join(timeout=0.3)  # it must not get past the heartbeat; when it does, it needs far less
    go_on.set()
    heartbeat.join()
    finish.join()
    assert carried(rq_client, QUEUE).started == set()


def test_a_seat_that_left_is_nowhere(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    seat.finished(started(rq_client, seat))
    seat.leave()
    seat.leave()
    seat.heartbeat()
    assert rq_client.keys() == [b"rq:queues"]


def test_a_job_finished_after_its_seat_left_leaves_nothing_either(rq_client: Redis) -> None:
    seat = Seat(rq_client, QUEUE, "seat")
    delivery = started(rq_client, seat)
    seat.leave()
    seat.finished(delivery)
    assert rq_client.keys() == [b"rq:queues"]


def test_a_seat_is_made_without_a_redis() -> None:
    Seat(connect("redis://127.0.0.1:1/0"), QUEUE, "seat")
