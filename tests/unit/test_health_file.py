"""The health file, by whose age others see whether a program is well."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from koala.errors import SettingsError
from koala.health import STALE_S, HealthFile, look


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "health"


def age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def test_a_program_that_has_only_begun_is_not_well(path: Path) -> None:
    HealthFile(path, "worker")
    assert age(path) > 10**9
    assert look(path) == "it has not been well ever: it has only begun"


def test_it_is_well_from_its_first_healthy_moment(path: Path) -> None:
    HealthFile(path, "worker").tell(slots={"0": 7})
    assert age(path) < STALE_S
    assert look(path) == ""
    assert json.loads(path.read_text())["slots"] == {"0": 7}


def test_what_is_wrong_is_told_at_once_and_the_age_is_of_the_last_healthy_moment(path: Path) -> None:
    file = HealthFile(path, "worker")
    file.tell()
    file._well_at -= STALE_S + 1
    file.tell("slot 0 hangs")
    assert STALE_S < age(path) < STALE_S + 5
    assert look(path) == f"it has not been well for {STALE_S + 1} s: slot 0 hangs"


def test_a_program_that_says_nothing_any_more_is_not_well(path: Path) -> None:
    HealthFile(path, "worker").tell()
    os.utime(path, (0, time.time() - 100))
    assert look(path) == "it has not been well for 100 s: it has stopped saying how it is"


def test_a_program_that_ended_leaves_none(path: Path) -> None:
    file = HealthFile(path, "worker")
    file.remove()
    assert "does not run" in look(path)
    assert list(path.parent.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_at_the_start_with_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"KOALA_HEALTH: .*missing/health cannot be written.*name a file"):
        HealthFile(tmp_path / "missing" / "health", "worker")


def test_a_disk_that_fills_later_is_logged_once_and_ends_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = HealthFile(folder / "health", "worker")
    (folder / "health").unlink()
    folder.rmdir()
    with capture_logs() as logs:
        file.tell()
        file.tell()
    assert [line["event"] for line in logs] == ["health_not_written"]


def test_nothing_is_written_without_a_path() -> None:
    HealthFile(None, "worker").tell()
    assert "KOALA_HEALTH" in look(None)


@pytest.mark.parametrize("program", ["worker", "scheduler"])
def test_a_command_says_how_a_program_is(path: Path, program: str) -> None:
    def asked() -> tuple[int, str]:
        command = [sys.executable, "-m", program, "health"]
        done = subprocess.run(command, env={**os.environ, "KOALA_HEALTH": str(path)}, capture_output=True, text=True)
        return done.returncode, done.stdout

    file = HealthFile(path, program)
    assert asked() == (1, "it has not been well ever: it has only begun\n")
    file.tell()
    assert asked() == (0, "it is well\n")
