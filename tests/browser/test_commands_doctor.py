"""`doctor`: the whole of it, on this machine, with and without what it looks for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from koala.exits import Exit
from tests.support.command import Command, Said
from tests.support.data import data_volume
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.redis


@pytest.fixture(scope="module")
def redis_server() -> Iterator[RedisServer]:
    with RedisServer() as server:
        yield server


@pytest.fixture
def doctor(redis_server: RedisServer) -> Iterator[Command]:
    with data_volume() as where:
        yield Command({"KOALA_REDIS_URL": redis_server.socket_url, "KOALA_DATA": str(where.path)})


def checks(said: Said) -> dict[str, dict[str, Any]]:
    return {check["name"]: check for check in said.data["checks"]}


def test_on_a_machine_that_has_everything_nothing_fails(doctor: Command) -> None:
    said = doctor("doctor", "--json")
    found = checks(said)
    assert (said.code, said.data["ok"]) == (0, True), said.out
    for name in ("python", "settings", "workflows", "store", "store clock", "volume", "lock", "driver", "memory"):
        assert found[name]["state"] == "ok", found[name]
    assert "renders a page in" in found["full browser"]["found"]
    assert "renders a page in" in found["headless shell"]["found"]
    assert found["sandbox"]["state"] == "warn"


def test_without_a_store_all_others_are_still_checked(doctor: Command) -> None:
    said = doctor("doctor", "--json", KOALA_REDIS_URL="unix:///nowhere")
    found = checks(said)
    assert (said.code, found["store"]["state"]) == (Exit.STORE_AWAY, "fail")
    assert found["full browser"]["state"] == found["lock"]["state"] == "ok"


def test_a_browser_that_does_not_start_fails_with_what_to_do(doctor: Command, tmp_path: Any) -> None:
    broken = tmp_path / "chromium"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    said = doctor("doctor", "--json", KOALA_CHROMIUM=str(broken))
    assert said.code == Exit.BROWSER
    assert checks(said)["full browser"]["state"] == "fail"
    assert checks(said)["headless shell"]["state"] == "ok"


def test_for_people_each_fault_is_followed_by_what_to_do(doctor: Command) -> None:
    said = doctor("doctor", KOALA_SLOTS="nonsense")
    assert said.code == Exit.SETTINGS
    lines = said.out.splitlines()
    at = next(number for number, line in enumerate(lines) if line.startswith("fail settings"))
    assert "KOALA_SLOTS" in lines[at]
    assert lines[at + 1].strip().startswith("->")
