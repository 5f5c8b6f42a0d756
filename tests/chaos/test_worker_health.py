"""A worker that looks after itself: hung slots are replaced, others see by a file how it is, and starts are counted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import starts
from koala.exits import Exit
from koala.health import look
from koala.starts import diary
from tests.support.live_pool import LivePool
from tests.support.program import Program


@pytest.fixture
def pool() -> Iterator[LivePool]:
    with LivePool() as opened:
        yield opened


@pytest.fixture
def folder(pool: LivePool) -> Path:
    made = pool.home / "starts"
    made.mkdir()
    return made


def told_at(path: Path) -> int:
    return int(json.loads(path.read_text())["at_ms"])


def until_well(pool: LivePool, path: Path) -> None:
    """Until the program has said once more that it is well."""
    before = told_at(path) if path.exists() else 0
    pool.until(lambda: look(path) == "" and told_at(path) > before, f"{path.name} says that it is well")


def test_a_frozen_slot_is_killed_and_started_again_and_an_outage_of_the_store_is_no_illness(pool: LivePool) -> None:
    path = pool.home / "health"
    worker = pool.worker(2, KOALA_HEALTH=str(path), KOALA_SLOT_SILENT_S="3")
    pool.until_slots(2)
    until_well(pool, path)
    hung, other = pool.parents()
    pool.freeze(hung)
    pool.until(lambda: "silent" in json.loads(path.read_text())["why"], "the worker says what is wrong")
    pool.until_gone(hung)
    pool.until(lambda: len({*pool.parents()} - {hung}) == 2, "another slot is there")
    assert other in pool.parents()
    until_well(pool, path)

    pool.redis.kill()
    pool.until(lambda: "store_away" in worker.text, "the worker has noticed")
    until_well(pool, path)
    pool.redis.start()
    pool.until_slots(2)
    assert worker.text.count("slot_hung") == 1
    assert worker.exit_code is None
    worker.terminate()
    assert worker.wait() == 0
    assert not path.exists()


def test_a_worker_that_is_asked_to_end_while_it_starts_ends_as_one_that_was_asked(pool: LivePool, folder: Path) -> None:
    worker = pool.worker(1, KOALA_STARTS=str(folder))
    pool.until(lambda: diary.recent(folder, "worker"), "the start is on record")
    worker.terminate()
    assert worker.wait() == 0
    assert [(entry.event, entry.exit) for entry in diary.recent(folder, "worker")] == [("start", None), ("end", None)]


def _no_secret(pool: LivePool, folder: Path) -> Program:
    missing = {"KOALA_REDIS_PASSWORD": "", "KOALA_REDIS_PASSWORD_FILE": str(pool.home / "no-such-secret")}
    return pool.worker(1, KOALA_STARTS=str(folder), **missing)


def test_starts_that_fail_are_in_the_store_with_the_reason_and_come_slower(pool: LivePool, folder: Path) -> None:
    pool.scheduler(KOALA_STARTS=str(folder))
    for _ in range(2):
        assert _no_secret(pool, folder).wait() == Exit.SETTINGS
    pool.until(lambda: starts.seen(pool.store).get("worker"), "the starts are in the store")
    pool.until(lambda: starts.seen(pool.store)["worker"].row == 2, "both ends too")
    (host,) = starts.seen(pool.store)["worker"].failing
    assert (host.exit, "no-such-secret is missing" in host.reason) == (Exit.SETTINGS, True)
    assert not starts.seen(pool.store)["scheduler"].failing

    third = _no_secret(pool, folder)
    pool.until(lambda: sum(bool(entry.exit) for entry in diary.recent(folder, "worker")) == 3, "its end is on record")
    assert third.exit_code is None, "it waits before it gives its failure back"
    third.terminate()
    assert third.wait() == Exit.SETTINGS

    pool.worker(1, KOALA_STARTS=str(folder))
    pool.until(lambda: not starts.seen(pool.store)["worker"].failing, "one that comes up ends the row")


def test_a_worker_that_starts_before_its_store_waits_for_it_when_told_to(pool: LivePool) -> None:
    pool.redis.kill()
    worker = pool.worker(1, KOALA_STORE_WAIT_S="60")
    pool.until(lambda: "store_awaited" in worker.text, "it waits")
    pool.redis.start()
    pool.until_slots(1)
    worker.terminate()
    assert worker.wait() == 0
