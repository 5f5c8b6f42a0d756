"""A backup's directory: whole or not there, for its owner's eyes, and refused when it is not as it was made."""

from __future__ import annotations

import errno
import io
import json
import stat
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from deploy import archive, pour, unfinished
from deploy.archive import LIST, PROFILES, STORE
from deploy.compose import Compose
from deploy.engine import Engine
from deploy.exits import Exit
from deploy.problem import DockerFailed, Problem
from deploy.project import Project

EACH = [{"name": "ann", "state": "closed"}, {"name": "bob", "state": "missing"}]


def fill(part: Path) -> None:
    """What a backup puts in."""
    (part / STORE).write_bytes(b"REDIS0011")
    with tarfile.open(part / PROFILES, "w") as tar:
        text = json.dumps(EACH).encode()
        member = tarfile.TarInfo(LIST)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text))
    sums = {name: pour.total(part / file).sha256 for name, file in (("store", STORE), ("profiles", PROFILES))}
    manifest = {
        "format": 1,
        "store": {"sha256": sums["store"]},
        "profiles": {"sha256": sums["profiles"], "each": archive.listed(part / PROFILES)},
    }
    archive.write_manifest(part, manifest)


def made(folder: Path) -> Path:
    with archive.new(folder, "koala-1") as part:
        fill(part)
    return folder / "koala-1"


class TestNew:
    def test_it_has_its_name_only_when_it_is_complete(self, tmp_path: Path) -> None:
        with archive.new(tmp_path, "koala-1") as part:
            fill(part)
            assert not (tmp_path / "koala-1").exists()
        assert [path.name for path in tmp_path.iterdir()] == ["koala-1"]
        assert stat.S_IMODE((tmp_path / "koala-1").stat().st_mode) == 0o700

    def fails(self, folder: Path, error: Exception) -> None:
        with archive.new(folder, "koala-1") as part:
            (part / STORE).touch()
            raise error

    def test_one_that_fails_leaves_nothing_behind(self, tmp_path: Path) -> None:
        with pytest.raises(Problem, match=r"the disk of .* is full") as caught:
            self.fails(tmp_path, OSError(errno.ENOSPC, "No space left on device"))
        assert "make room" in caught.value.advice
        assert list(tmp_path.iterdir()) == []

    def test_what_a_killed_one_left_behind_goes_with_the_next(self, tmp_path: Path) -> None:
        (tmp_path / ".koala-0.part").mkdir()
        made(tmp_path)
        assert [path.name for path in tmp_path.iterdir()] == ["koala-1"]

    def test_one_that_is_there_is_never_overwritten(self, tmp_path: Path) -> None:
        made(tmp_path)
        with pytest.raises(Problem, match="cannot be written"):
            made(tmp_path)
        assert archive.read(tmp_path / "koala-1")


class TestRead:
    def test_a_complete_one_names_what_is_missing(self, tmp_path: Path) -> None:
        assert archive.read(made(tmp_path)).missing == ["bob"]

    @pytest.mark.parametrize("name", [STORE, PROFILES])
    @pytest.mark.parametrize("how", ["changed", "gone"])
    def test_one_that_was_changed_is_refused(self, tmp_path: Path, name: str, how: str) -> None:
        path = made(tmp_path) / name
        path.write_bytes(path.read_bytes() + b"x") if how == "changed" else path.unlink()
        with pytest.raises(Problem, match="not as it was backed up"):
            archive.read(path.parent)

    def test_one_of_a_newer_koala_is_refused(self, tmp_path: Path) -> None:
        path = made(tmp_path) / archive.MANIFEST
        path.write_text(path.read_text().replace('"format": 1', '"format": 2'))
        with pytest.raises(Problem, match="newer Koala"):
            archive.read(path.parent)

    @pytest.mark.parametrize("text", [None, "{", "[]", '{"format": 1}'])
    def test_what_is_none_is_said(self, tmp_path: Path, text: str | None) -> None:
        if text is not None:
            (tmp_path / archive.MANIFEST).write_text(text)
        with pytest.raises(Problem, match="is no backup of Koala's"):
            archive.read(tmp_path)

    def test_a_tar_that_was_cut_short_is_no_list(self, tmp_path: Path) -> None:
        path = made(tmp_path) / PROFILES
        path.write_bytes(path.read_bytes()[:300])
        with pytest.raises(Problem, match="did not arrive whole"):
            archive.listed(path)


@pytest.fixture
def compose(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Compose:
    """`docker compose sh -c …` runs the rest here."""
    docker = tmp_path / "bin" / "docker"
    docker.parent.mkdir()
    docker.write_text('#!/bin/sh\nshift\nexec "$@"\n')
    docker.chmod(0o755)
    made = object.__new__(Compose)
    made.engine = Engine(tmp_path, {"PATH": f"{docker.parent}:/usr/bin:/bin"})
    made._env = {}
    monkeypatch.setenv("PATH", made.engine.environ["PATH"])
    return made


class TestPour:
    def test_what_comes_out_is_private_and_summed(self, compose: Compose, tmp_path: Path) -> None:
        target = tmp_path / "out"
        summed = pour.out(compose, target, "sh", "-c", "printf data")
        assert (target.read_bytes(), summed) == (b"data", pour.total(target))
        assert stat.S_IMODE(target.stat().st_mode) == 0o600

    def test_a_command_that_fails_fails_it(self, compose: Compose, tmp_path: Path) -> None:
        with pytest.raises(DockerFailed):
            pour.out(compose, tmp_path / "out", "sh", "-c", "printf half; exit 4")

    def test_a_directory_that_cannot_be_written_is_said(self, compose: Compose, tmp_path: Path) -> None:
        with pytest.raises(Problem, match="cannot be written"):
            pour.out(compose, tmp_path / "no" / "out", "sh", "-c", "printf data")

    def test_what_goes_in_arrives_and_its_answer_is_heard(self, compose: Compose, tmp_path: Path) -> None:
        (tmp_path / "in").write_bytes(b"data")
        assert pour.into(compose, tmp_path / "in", "sh", "-c", "cat; echo !") == "data!\n"
        with pytest.raises(DockerFailed):
            pour.into(compose, tmp_path / "in", "sh", "-c", "exit 1")


@dataclass
class Place:
    """As much of a project as a note needs."""

    lock: Path


class TestUnfinished:
    @pytest.fixture
    def project(self, tmp_path: Path) -> Project:
        return cast(Project, Place(tmp_path / ".koala" / "pool.lock"))

    def test_nothing_starts_until_it_is_complete(self, project: Project) -> None:
        unfinished.refuse(project)
        begun = unfinished.begin(project, "/backups/one")
        with pytest.raises(Problem, match="not complete") as caught:
            unfinished.refuse(project)
        assert caught.value.exit_code == Exit.REFUSED
        assert "FROM=/backups/one" in caught.value.advice
        assert unfinished.begin(project, "/backups/one") == begun, "it goes on under its own name"
        unfinished.done(project)
        unfinished.refuse(project)

    def test_another_backup_is_refused_meanwhile(self, project: Project) -> None:
        unfinished.begin(project, "/backups/one")
        with pytest.raises(Problem, match="/backups/one"):
            unfinished.begin(project, "/backups/two")
