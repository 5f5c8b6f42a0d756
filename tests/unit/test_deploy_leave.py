"""How workers are let go: told once, by name, waited for, and only then removed."""

from __future__ import annotations

from typing import Any, cast

import pytest

from deploy import interrupt, leave
from deploy.containers import Container, parse
from deploy.engine import Ran
from deploy.leave import Leaving
from deploy.pool import Pool, Sight, Slot
from deploy.problem import PoolAway
from deploy.project import Project

ID = "0123456789abcdef"
WORKER = f"{ID[:12]}-a1b2c3"
KNOWN = Sight((Slot(f"{WORKER}-0", WORKER, busy=True, draining=False, trial=False, task="t1"),))


def _told(state: str = "running", service: str = "worker", code: int = 0) -> dict[str, Any]:
    return {
        "Id": ID,
        "Name": "/koala-worker-1",
        "Image": "",
        "State": {"Status": state, "ExitCode": code},
        "Config": {"Image": "koala:1", "Labels": {"com.docker.compose.service": service}},
    }


class Machine:
    """An engine and a pool that say what the script says, a round a word; the engine's last word stays."""

    def __init__(self, states: list[dict[str, Any]], sights: list[Sight | None]) -> None:
        self.engine = self
        self._states, self._sights = states, sights
        self.done: list[str] = []

    def inspect(self, *ids: str) -> list[dict[str, Any]]:
        return [self._states.pop(0) if len(self._states) > 1 else self._states[0]]

    def tried(self, *args: str, **_: object) -> Ran:
        self.done.append(" ".join(args))
        return Ran(0, "", "")

    def sight(self) -> Sight:
        found = self._sights.pop(0)
        if found is None:
            raise PoolAway("away")
        return found

    def order(self, *args: str) -> str:
        self.done.append(" ".join(args))
        return ""

    def leaving(self) -> Leaving:
        some: list[Container] = [parse(self._states[0])]
        return Leaving(cast(Project, self), cast(Pool, self), some, soft_s=60)


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupt, "sleep", lambda seconds: None)


def test_a_worker_is_told_once_and_not_signalled_while_it_closes_its_last_browser(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It has left the pool by then, and still runs. A signal would have the engine start it again one day."""
    monkeypatch.setattr(leave, "UNKNOWN_S", -1.0)
    machine = Machine([_told(), _told(), _told(), _told(), _told("exited")], [KNOWN, KNOWN, Sight(), Sight()])
    leaving = machine.leaving()
    leaving.wait()
    leaving.remove()
    assert machine.done == [f"drain {WORKER} --as deploy", f"rm {ID}"]


def test_a_pool_that_does_not_answer_is_asked_again_before_a_signal_is_sent() -> None:
    machine = Machine([_told(), _told(), _told(), _told("exited")], [None, KNOWN, Sight()])
    machine.leaving().wait()
    assert machine.done == [f"drain {WORKER} --as deploy"]


def test_a_worker_that_nobody_knows_is_told_by_signal_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leave, "UNKNOWN_S", -1.0)
    machine = Machine([_told(), _told(), _told(), _told("exited", code=143)], [Sight(), Sight(), None])
    machine.leaving().wait()
    assert machine.done == [f"kill --signal TERM {ID}"]


def test_a_worker_between_two_restarts_is_kept_from_coming_back() -> None:
    machine = Machine([_told("restarting"), _told("exited")], [Sight()])
    machine.leaving().wait()
    assert machine.done == [f"stop {ID}"]


def test_a_scheduler_is_told_by_signal_at_once() -> None:
    machine = Machine([_told(service="scheduler"), _told("exited")], [Sight()])
    machine.leaving().wait()
    assert machine.done == [f"kill --signal TERM {ID}"]


def test_what_it_waits_for_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    machine = Machine([_told(), _told("exited", code=137)], [KNOWN])
    leaving = machine.leaving()
    leaving.wait()
    leaving.remove()
    said = capsys.readouterr().err
    assert "waits for koala-worker-1, which runs t1" in said
    assert "koala-worker-1 ended with 137" in said
