"""Redis dies, freezes, fills up or loses its keys, and the seats go on afterwards."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest
from redis import Redis
from redis.exceptions import ConnectionError, TimeoutError

from koala.errors import StoreForbidden
from koala.queue import (
    Delivery,
    Seat,
    carried,
    connect,
    connection,
    purge,
    push,
    sweep,
    waiting,
    withdraw,
)
from tests.support.redis_server import RedisServer
from tests.support.waiting import until

QUEUE = "koala-test"
JOB = Delivery("job-1", "task-1")

READS: dict[str, Callable[[Redis, Seat], object]] = {
    "waiting": lambda client, _: waiting(client, QUEUE),
    "carried": lambda client, _: carried(client, QUEUE),
}
WRITES: dict[str, Callable[[Redis, Seat], object]] = {
    "push": lambda client, _: push(client, QUEUE, "task-2", "job-2"),
    "register": lambda _, seat: seat.register(),
    "heartbeat": lambda _, seat: seat.heartbeat(),
    "started": lambda _, seat: seat.started(JOB),
    "finished": lambda _, seat: seat.finished(JOB),
}
OTHERS: dict[str, Callable[[Redis, Seat], object]] = {
    "take": lambda _, seat: seat.take(0),
    "waiting take": lambda _, seat: seat.take(0.1),
    "leave": lambda _, seat: seat.leave(),
    "withdraw": lambda client, _: withdraw(client, QUEUE, "job-1"),
    "purge": lambda client, _: purge(client, QUEUE, "job-1"),
    "sweep": lambda client, _: sweep(client, QUEUE, lambda _id: False),
}
CALLS = READS | WRITES | OTHERS


@pytest.fixture
def client(own_redis: RedisServer) -> Iterator[Redis]:
    with connect(own_redis.url) as client:
        yield client


class Taking:
    """A seat that waits for a job in a thread, as often as it takes."""

    def __init__(self, client: Redis) -> None:
        self.taken: Delivery | None = None
        self.error: Exception | None = None
        self.seat = Seat(client, QUEUE, "seat")
        self.seat.register()
        self._thread = threading.Thread(target=self._take)
        self._thread.start()

    def result(self) -> Delivery | None:
        self._thread.join(timeout=30)
        assert not self._thread.is_alive()
        if self.error:
            raise self.error
        return self.taken

    def _take(self) -> None:
        try:
            self.taken = next(filter(None, (self.seat.take(2) for _ in range(10))), None)
        except Exception as error:  # noqa: BLE001 - the test looks at whatever it is
            self.error = error


def waits(server: RedisServer) -> bool:
    with Redis.from_url(server.socket_url) as client:
        return bool(client.info("clients")["blocked_clients"] == 1)


def test_a_redis_killed_under_a_waiting_seat_is_told_and_the_seat_works_again(
    own_redis: RedisServer, client: Redis
) -> None:
    taking = Taking(client)
    until(lambda: waits(own_redis), "the seat waits")
    own_redis.kill()
    with pytest.raises(ConnectionError):
        taking.result()
    own_redis.start()
    push(client, QUEUE, "task-1", "job-1")
    assert taking.seat.take(2) == JOB


def test_all_of_rqs_keys_deleted_under_a_waiting_seat_cost_nothing(own_redis: RedisServer, client: Redis) -> None:
    taking = Taking(client)
    until(lambda: waits(own_redis), "the seat waits")
    client.delete(*client.keys("rq:*"))
    push(client, QUEUE, "task-1", "job-1")
    assert taking.result() == JOB
    taking.seat.heartbeat()
    assert client.smembers("rq:workers") == {b"rq:worker:seat"}
    taking.seat.started(JOB)
    client.delete(*client.keys("rq:*"))
    taking.seat.finished(JOB)
    assert not [key for key in client.keys("*") if b"job-1" in key]


def test_a_job_pushed_before_redis_was_killed_is_there_afterwards(own_redis: RedisServer, client: Redis) -> None:
    push(client, QUEUE, "task-1", "job-1")
    own_redis.restart()
    assert Seat(client, QUEUE, "seat").take(0) == JOB


def test_a_frozen_redis_is_told_within_the_sockets_timeout(
    own_redis: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "SOCKET_TIMEOUT_S", 0.3)
    with connect(own_redis.url) as client:
        seat = Seat(client, QUEUE, "seat")
        seat.register()
        own_redis.freeze()
        with pytest.raises(TimeoutError):
            seat.take(0.1)
        own_redis.thaw()
        assert seat.take(0) is None


def test_the_longest_take_is_shorter_than_the_sockets_timeout(client: Redis) -> None:
    assert Seat(client, QUEUE, "seat").take(60) is None


def test_a_call_is_tried_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        calls = 0

        def hang_up() -> None:
            nonlocal calls
            while True:
                try:
                    peer, _ = listener.accept()
                except OSError:
                    return
                calls += 1
                peer.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        port = listener.getsockname()[1]
        with connect(f"redis://127.0.0.1:{port}/0") as client, pytest.raises(ConnectionError):
            waiting(client, QUEUE)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert calls == 1


def test_an_unread_reply_is_never_taken_for_anothers(client: Redis) -> None:
    push(client, QUEUE, "task-1", "job-1")
    pooled = client.connection_pool.get_connection()
    pooled.send_command("LRANGE", "rq:queues", 0, 0)
    pooled.can_read(timeout=30)
    client.connection_pool.release(pooled)
    assert waiting(client, QUEUE) == {"job-1"}


def test_a_redis_that_forbids_reading_jobs_costs_no_job(client: Redis) -> None:
    push(client, QUEUE, "task-1", "job-1")
    client.execute_command("ACL", "SETUSER", "default", "-hgetall")
    seat = Seat(client, QUEUE, "seat")
    with pytest.raises(StoreForbidden):
        seat.take(0)
    client.execute_command("ACL", "SETUSER", "default", "+hgetall")
    assert carried(client, QUEUE).taken == {"job-1"}
    assert client.exists("rq:job:job-1")


@pytest.mark.parametrize("name", CALLS)
def test_without_a_redis_every_call_says_so_in_the_same_way(tmp_path: object, name: str) -> None:
    with connect(f"unix://{tmp_path}/none") as client, pytest.raises(ConnectionError):
        CALLS[name](client, Seat(client, QUEUE, "seat"))


@pytest.mark.parametrize("name", CALLS)
def test_after_a_restart_the_first_call_succeeds(own_redis: RedisServer, client: Redis, name: str) -> None:
    seat = Seat(client, QUEUE, "seat")
    seat.register()
    own_redis.restart()
    CALLS[name](client, seat)


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("fault", [("maxmemory", "1"), ("min-replicas-to-write", "1")], ids=["full", "alone"])
def test_a_redis_that_cannot_write_is_an_outage_too(
    own_redis: RedisServer, client: Redis, name: str, fault: tuple[str, str]
) -> None:
    client.config_set(*fault)
    with pytest.raises(ConnectionError):
        WRITES[name](client, Seat(client, QUEUE, "seat"))


def test_a_mistake_in_a_command_is_not_an_outage(client: Redis) -> None:
    client.set("rq:queue:" + QUEUE, "not a list")
    with pytest.raises(Exception, match="WRONGTYPE") as caught:
        waiting(client, QUEUE)
    assert not isinstance(caught.value, ConnectionError)
