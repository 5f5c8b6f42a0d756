"""`python -m scheduler once`: a timer of the machine runs an occurrence without a scheduler that stays."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from koala import keys, tasks
from koala.exits import Exit
from koala.schedules import switching
from koala.schedules.definition import Overlap
from koala.tasks import Task
from scheduler.once import Once, once
from tests.support import access
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer
from tests.support.schedules import DAY_MS, NAME, define, made, make, outcomes
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
END_S = 60.0


@pytest.fixture
def environment(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Of a program of the pool; this process gets it too."""
    own = {"KOALA_REDIS_URL": redis_server.socket_url, **access.as_user("scheduler"), "KOALA_TICK_S": "0.05"}
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return {**os.environ, **own}


@contextmanager
def timer(environment: dict[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """What a timer starts."""
    command = [sys.executable, "-m", "scheduler", "once", NAME, *words]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL) as process:
        yield process
        process.kill()


def handed_over(pool: Pool) -> Task:
    """The run, once it is handed over: by nobody else than the timer's program."""
    until(lambda: tasks.ids(pool.store, "handed"), "the run is handed over")
    return pool.task(tasks.ids(pool.store, "handed")[0])


@pytest.mark.parametrize(("status", "code"), [("done", Exit.OK), ("failed", Exit.TASK_FAILED)])
def test_it_hands_the_occurrence_over_and_ends_as_its_task_does(
    pool: Pool, environment: dict[str, str], status: str, code: Exit
) -> None:
    pool.slot("s1")
    make(pool.store, define(max_attempts=1), undecided_ms=DAY_MS)
    with timer(environment) as process:
        attempt = pool.start(handed_over(pool))
        assert attempt.release(status, {"reason": "as told"}) in ("done", "failed")
        assert process.wait(END_S) == code
    assert pool.store.client.hget(keys.LEADER, "who") is None, "nobody waits for its leadership to end"


def test_asked_to_stop_it_waits_no_longer_and_the_task_goes_on(pool: Pool, environment: dict[str, str]) -> None:
    pool.slot("s1")
    make(pool.store, define(), undecided_ms=DAY_MS)
    with timer(environment) as process:
        task = handed_over(pool)
        process.terminate()
        assert process.wait(END_S) == Exit.WAITING
    assert pool.status(task) == "handed"


@pytest.fixture
def here(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """In this process, whose signals and logs stay as they are."""
    monkeypatch.setattr("scheduler.once._waiter", Once)
    monkeypatch.setattr("koala.logs.configure", lambda *_, **__: None)


@pytest.mark.usefixtures("here")
class TestWithNothingToRun:
    def test_it_ends_well(self, pool: Pool) -> None:
        make(pool.store, define(overlap=Overlap.FORBID, every_ms=3_600_000))
        assert once(NAME) == Exit.OK
        switching.pause(pool.store, NAME, "ann")
        assert once(NAME) == Exit.OK
        assert made(pool.store) == []

    def test_also_when_an_earlier_run_has_not_ended(self, pool: Pool) -> None:
        make(pool.store, define(overlap=Overlap.FORBID), undecided_ms=DAY_MS)
        assert once(NAME, timeout_s=0.05) == Exit.WAITING
        pool.store.client.delete(keys.dedupe(made(pool.store)[0].dedupe))
        pool.store.client.hset(keys.schedule(NAME), "cursor_ms", tasks.now_ms(pool.store) - 2 * DAY_MS)
        assert once(NAME, timeout_s=0.05) == Exit.OK
        assert outcomes(pool.store)[-1] == "overlap"

    @pytest.mark.parametrize(
        ("words", "code"),
        [((NAME,), Exit.REFUSED), (("other",), Exit.NOT_FOUND), ((NAME, "--occurrence", "then"), Exit.USAGE)],
    )
    def test_a_mistake_ends_with_its_code(
        self, pool: Pool, words: tuple[str, ...], code: Exit, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """In this process: `main` is what the program runs."""
        from scheduler.__main__ import main

        switching.apply(pool.store, define(), "ann")
        monkeypatch.setattr(sys, "argv", ["scheduler", "once", *words])
        assert main() == code
