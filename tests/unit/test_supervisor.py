"""How a worker follows from what its slots do. The slots here only end as they are told."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from koala.exits import Exit
from koala.health import look
from koala.settings import Settings
from tests.support.data import data_volume
from worker import health, supervisor
from worker.report import OnMetric
from worker.supervisor import Supervisor
from worker.volume import Volume

WORKS = None
"""The plan of a slot that works until it is drained."""


class FakeSlot:
    """A slot without a process. `plans` has, by slot, the codes with which its lives end."""

    plans: dict[int, list[int]]
    born: list[int]
    killed: list[int]
    mute = False

    def __init__(self, worker: str, number: int, on_beat: Callable[[], None], on_metric: OnMetric) -> None:
        self.number, self.pid, self.last_words = number, 0, "the last words"
        self._end: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        FakeSlot.born.append(number)
        plan = FakeSlot.plans[number]
        code = plan.pop(0) if plan else WORKS
        if code is not WORKS:
            self._end.set_result(code)
        if not FakeSlot.mute:
            on_beat()

    async def wait(self) -> int:
        return await self._end

    def drain(self) -> None:
        if not self._end.done():
            self._end.set_result(0)

    async def kill(self) -> None:
        FakeSlot.killed.append(self.number)
        self._end.set_result(-signal.SIGKILL)


async def until(condition: Callable[[], bool]) -> None:
    """As soon as the condition holds; a deadline is the test's own."""
    while not condition():  # noqa: ASYNC110 - what it waits for has no event
        await asyncio.sleep(0.005)


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> type[FakeSlot]:
    FakeSlot.plans, FakeSlot.born, FakeSlot.killed = {0: [], 1: []}, [], []
    monkeypatch.setattr(supervisor, "SlotProcess", FakeSlot)
    monkeypatch.setattr(supervisor, "RESTART_S", (0.0,))
    monkeypatch.setattr(supervisor, "AWAY_S", 0.0)
    monkeypatch.setattr(supervisor, "WATCH_S", 0.01)
    return FakeSlot


async def test_a_permanent_end_of_one_slot_drains_the_others_and_ends_the_worker(
    fakes: type[FakeSlot], where: Volume
) -> None:
    fakes.plans[1] = [Exit.WENT_BACK]
    worker = Supervisor(Settings(), where)
    assert await worker.run() == Exit.WENT_BACK
    assert worker.reason == "the last words"
    assert fakes.born == [0, 1]


async def test_a_slot_that_keeps_dying_ends_the_worker_after_the_others_are_drained(
    fakes: type[FakeSlot], where: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fakes, "mute", True)
    fakes.plans[1] = [-9] * 100
    worker = Supervisor(Settings(), where)
    assert await worker.run() == Exit.FAILED
    assert worker.reason == f"slot 1 died {health.STILLBORN} times in a row, last with -9: the last words"
    assert fakes.born.count(1) == health.STILLBORN
    assert fakes.born.count(0) == 1


async def test_a_slot_that_dies_now_and_then_is_started_again(fakes: type[FakeSlot], where: Volume) -> None:
    fakes.plans[1] = [-9] * (health.DEATHS - 1)
    worker = Supervisor(Settings(), where)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: fakes.born.count(1) == health.DEATHS)
    worker.drain()
    assert await running == Exit.OK


async def test_a_slot_that_cannot_be_started_now_is_tried_again(
    fakes: type[FakeSlot], where: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> FakeSlot:
        monkeypatch.setattr(supervisor, "SlotProcess", fakes)
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(supervisor, "SlotProcess", full)
    worker = Supervisor(Settings(slots=1), where)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: fakes.born == [0])
    worker.drain()
    assert await running == Exit.OK


async def test_a_store_that_is_away_for_long_does_not_end_the_worker(fakes: type[FakeSlot], where: Volume) -> None:
    fakes.plans[1] = [int(Exit.STORE_AWAY)] * 3 * health.DEATHS
    worker = Supervisor(Settings(), where)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: not fakes.plans[1])
    worker.drain()
    assert await running == Exit.OK


async def test_a_silent_slot_is_killed_and_started_again(
    fakes: type[FakeSlot], where: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Settings, "hung_after_s", 0.2)
    worker = Supervisor(Settings(slots=1), where)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: len(fakes.born) == 2)
    worker.drain()
    await running
    assert fakes.killed == [0]


async def test_the_health_file_says_how_it_is_and_goes_with_the_worker(
    fakes: type[FakeSlot], where: Volume, tmp_path: Path
) -> None:
    well: list[bool] = []
    path = tmp_path / "health"
    worker = Supervisor(Settings(health=path), where, on_well=lambda: well.append(True))
    assert "it has only begun" in look(path)
    running = asyncio.ensure_future(worker.run())
    await until(lambda: bool(well))
    assert look(path) == ""
    worker.drain()
    await running
    assert not path.exists()


async def test_it_is_not_well_before_each_slot_was_heard(
    fakes: type[FakeSlot], where: Volume, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    well: list[bool] = []
    monkeypatch.setattr(fakes, "mute", True)
    worker = Supervisor(Settings(health=tmp_path / "health"), where, on_well=lambda: well.append(True))
    running = asyncio.ensure_future(worker.run())
    await until(lambda: "slot 0 has been starting" in look(tmp_path / "health"))
    worker.drain()
    await running
    assert not well


async def test_a_watch_that_fails_is_told_and_the_slots_go_on(
    fakes: type[FakeSlot], where: Volume, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = Supervisor(Settings(), where)
    monkeypatch.setattr(worker._health, "why", lambda now: 1 / 0)
    with capture_logs() as logs:
        running = asyncio.ensure_future(worker.run())
        await until(lambda: any(line["event"] == "watch_failed" for line in logs))
        worker.drain()
        assert await running == Exit.OK
