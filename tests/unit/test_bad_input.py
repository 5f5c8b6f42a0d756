"""Plain bad input: each program says what is wrong in one line, with the code of its kind, and never a traceback."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

import pytest

from koala.cli.failure import describe
from koala.errors import InvalidArguments, SettingsError, VolumeError
from koala.exits import Exit
from koala.settings import Settings
from koala.store.client import client_for
from tests.support.command import Command
from tests.support.program import ROOT
from worker import volume
from worker.commands import profile, terminal
from worker.commands.desk import data_volume
from worker.commands.profile import state as storage_state
from worker.commands.profile.login import invitation
from worker.commands.run.home import home


def program(*words: str, **more: str) -> tuple[int, str]:
    """The exit code of `python -m …` with these variables, and what it said."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("KOALA_")}
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=ROOT, env={**ours, **more}, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


class TestAddress:
    @pytest.mark.parametrize("name", ["worker", "scheduler"])
    def test_a_port_that_is_none_stops_a_program_with_the_code_of_settings(self, name: str) -> None:
        code, said = program(name, KOALA_REDIS_URL="redis://127.0.0.1:notaport/0")
        assert (code, said.count("\n")) == (Exit.SETTINGS, 1), said
        assert said.startswith("error[settings]: settings are wrong: KOALA_REDIS_URL: ")

    @pytest.mark.parametrize("url", ["redis://127.0.0.1/0?db=x", "redis://127.0.0.1/0?nonsense=1"])
    def test_an_option_that_the_client_does_not_know_is_a_wrong_setting(self, url: str) -> None:
        with pytest.raises(SettingsError, match="KOALA_REDIS_URL"):
            client_for(url)


class TestDataDirectory:
    @pytest.mark.parametrize("path", ["/proc/x", "/etc/passwd", "/etc/passwd/x"])
    def test_what_can_be_no_volume_is_named_with_the_code_of_a_volume(self, path: str) -> None:
        for use in (volume.open_or_make, volume.create, volume.open_volume):
            with pytest.raises(VolumeError, match=path.split("/x")[0]):
                use(Path(path))
        with pytest.raises(VolumeError):
            data_volume(Settings(data=path))

    def test_one_that_cannot_be_written_is_refused_at_the_start(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A disk that is mounted read-only: every folder of the volume is there, and nothing can be done in it."""
        volume.create(tmp_path / "data")
        monkeypatch.setattr(os, "access", lambda *_, **__: False)  # as the kernel answers there, to root too
        with pytest.raises(VolumeError, match="cannot be written"):
            volume.open_volume(tmp_path / "data")

    def test_init_ends_with_one_line(self) -> None:
        code, said = program("worker", "init", KOALA_DATA="/etc/passwd/x")
        assert (code, said.count("\n")) == (Exit.VOLUME, 1), said

    def test_the_home_of_runs_is_named_with_the_variable_that_moves_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in ("KOALA_DATA", "KOALA_WORKFLOWS", "KOALA_LOG_FORMAT"):
            monkeypatch.setenv(name, "")  # what `home` sets goes away with the test
        monkeypatch.setattr(os, "environ", {**os.environ, "XDG_STATE_HOME": "/proc"})
        with pytest.raises(VolumeError, match="XDG_STATE_HOME"), home():
            pass


def test_what_the_machine_refuses_is_no_fault_of_koala(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as refused:
        (tmp_path / "there is none" / "file").write_text("")
    code, text, exit_code = describe(refused.value)
    assert (code, exit_code) == ("machine", Exit.FAILED)
    assert "No such file or directory" in text
    assert "fault of Koala" not in text


class TestFiles:
    def test_a_file_without_end_is_no_storage_state(self) -> None:
        with pytest.raises(InvalidArguments, match="longer than"):
            storage_state.read(Path("/dev/zero"))

    @pytest.mark.parametrize("verb", ["import", "export"])
    def test_a_hyphen_is_no_file_for_logins(self, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        given = argparse.Namespace(verb=verb, name="zoe", file=Path("-"), laptop=False)
        with pytest.raises(InvalidArguments, match="no file"):
            profile.run(Settings(data="/proc/x"), given)
        assert not list(tmp_path.iterdir())


def test_enter_is_offered_only_where_somebody_could_press_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "is_there", lambda: False)
    assert "Enter" not in invitation()
    monkeypatch.setattr(terminal, "is_there", lambda: True)
    assert "press Enter here" in invitation()


def test_the_commands_of_a_person_end_with_one_line_too() -> None:
    said = Command({"KOALA_DATA": "/proc/x", "KOALA_REDIS_URL": "unix:///nowhere"})("profile", "list")
    assert (said.code, said.out) == (Exit.VOLUME, "")
    assert "error[volume]: " in said.err.splitlines()[-1]
