"""The wrappers: they take the lock, become the program, and refuse with a reason."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from koala.fence import Fence
from tests.support.data import data_volume
from tests.support.holders import holder, wait_until_held, wrapped
from tests.support.waiting import until
from worker import locks, processes
from worker.browser import wrap
from worker.processes import Process
from worker.volume import Volume
from worker.wrappers import lockfile, wrapper


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


@pytest.fixture
def lock(where: Volume) -> Path:
    return locks.create(where, locks.profile_path(where, "alice"))


def refusal(where: Volume, run: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert run.wait(60) == wrapper.REFUSED
    report: dict[str, Any] = json.loads((where.tmp / "refusal.json").read_text())
    return report


def test_the_lock_lives_across_exec_as_long_as_the_program(where: Volume, lock: Path) -> None:
    with wrapped(where, lock, "3.1", "60") as run:
        wait_until_held(where, lock, "driver")
        until(lambda: _program(run.pid) == "sleep", "exec")
        answer = locks.prove_gone(where, lock)
        assert isinstance(answer, locks.Alive)
        assert answer.holder is not None
        assert Process(answer.holder.pid, answer.holder.started) == processes.find(run.pid)
        run.kill()
        run.wait()
        assert isinstance(locks.prove_gone(where, lock), locks.Gone)


def test_a_held_lock_is_refused_with_its_holder(where: Volume, lock: Path) -> None:
    with holder(where, lock, "3.1") as other, wrapped(where, lock, "3.2", "60") as run:
        report = refusal(where, run)
    assert (report["reason"], report["holder"]["pid"]) == ("held", other.pid)


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [
        (lambda where, lock: locks.take(where, lock, "x", Fence(9, 1)).release(), "fence"),
        (lambda where, lock: lock.unlink(), "missing"),
        (lambda where, lock: lock.write_bytes(b""), "damaged"),
    ],
)
def test_what_is_wrong_with_the_lock_is_said(where: Volume, lock: Path, prepare: Any, reason: str) -> None:
    prepare(where, lock)
    with wrapped(where, lock, "3.1", "60") as run:
        assert refusal(where, run)["reason"] == reason


def test_a_parent_that_is_gone_already_is_noticed(where: Volume, lock: Path) -> None:
    with wrapped(where, lock, "3.1", "60", parent=2) as run:
        assert refusal(where, run)["reason"] == "orphan"


def test_the_program_dies_with_its_parent(where: Volume, lock: Path) -> None:
    environment = {
        **os.environ,
        wrapper.PYTHON: sys.executable,
        wrapper.BINARY: "/bin/sleep",
        wrapper.LOCK: str(lock),
        wrapper.FENCE: "3.1",
        wrapper.MACHINE: where.machine,
    }
    code = (
        "import os, subprocess, sys\n"
        f"os.environ['{wrapper.PARENT}'] = str(os.getpid())\n"
        "subprocess.Popen([sys.argv[1], '60']).wait()"
    )
    with subprocess.Popen([sys.executable, "-c", code, wrap.DRIVER], env=environment) as parent:
        wait_until_held(where, lock, "driver")
        parent.kill()
        parent.wait()
        until(lambda: isinstance(locks.prove_gone(where, lock), locks.Gone), "the lock free")


def test_a_wrapper_works_below_a_path_with_a_space(where: Volume, lock: Path, tmp_path: Path) -> None:
    copy = tmp_path / "a b" / "worker"
    copy.mkdir(parents=True)
    shutil.copy(wrap.HERE.parent / "__init__.py", copy)
    shutil.copytree(wrap.HERE, copy / "wrappers")
    with wrapped(where, lock, "3.1", "60", script=copy / "wrappers") as run:
        wait_until_held(where, lock, "driver")
        run.kill()


def test_only_the_pipe_and_the_lock_reach_the_program(where: Volume, lock: Path) -> None:
    program = where.tmp / "program"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o700)
    high = os.dup2(2, 40)
    with wrapped(where, lock, "3.1", binary=str(program), role="browser", pass_fds=[high]) as run:
        wait_until_held(where, lock, "browser")
        until(lambda: _program(run.pid) == "sleep", "exec")
        passed = {d for d in os.listdir(f"/proc/{run.pid}/fd") if int(d) > 2}
        target = {os.readlink(f"/proc/{run.pid}/fd/{d}") for d in passed}
        run.kill()
    os.close(high)
    assert target == {str(lock)}


def _program(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def test_nothing_of_ours_is_in_the_programs_environment(where: Volume, lock: Path) -> None:
    with wrapped(where, lock, "3.1", "60") as run:
        wait_until_held(where, lock, "driver")
        until(lambda: _program(run.pid) == "sleep", "exec")
        environment = Path(f"/proc/{run.pid}/environ")
        until(environment.read_bytes, "the environment, which the kernel puts in place a moment after the name")
        found = environment.read_bytes()
        run.kill()
    assert b"PATH=" in found
    assert b"KOALA_WRAPPER" not in found


def test_the_network_stays_in_the_browser_whatever_features_were_asked_for() -> None:
    given = ["--enable-features=A,B", "--x", "--enable-features=C", "about:blank"]
    assert wrapper.with_network_in_process(given) == [
        "--enable-features=A,B,C,NetworkServiceInProcess2",
        "--x",
        "about:blank",
    ]


def test_a_frozen_rest_of_the_last_browser_is_ended_before_the_lock_is_given(where: Volume, lock: Path) -> None:
    """V26: the main process is the lock, but not the whole browser."""
    script = 'sleep 60 3>&- & echo $! > "$0"; wait'  # 3 is the lock, which browsers do not pass on
    rest = where.tmp / "rest"
    with wrapped(where, lock, "3.1", "-c", script, str(rest), binary="/bin/sh") as run:
        until(lambda: rest.exists() and rest.read_text().strip(), "the rest of it")
        pid = int(rest.read_text())
        until(lambda: _program(pid) == "sleep", "exec")
        os.kill(pid, signal.SIGSTOP)
        _name_as_browser(where, lock, run.pid, f"/proc/{pid}/exe")
        left = processes.find(pid)
        run.kill()
        run.wait()
    assert left is not None
    assert processes.is_alive(left)
    proof = locks.prove_gone(where, lock)
    assert isinstance(proof, locks.Gone)
    assert proof.ended == (pid,)
    assert not processes.is_alive(left)


def _name_as_browser(where: Volume, lock: Path, pid: int, program: str) -> None:
    descriptor = lockfile.open_existing(str(lock))
    assert descriptor is not None
    content = lockfile.read(descriptor)
    browser = {**content["holder"], "pid": pid, "session": pid, "binary": os.readlink(program)}
    lockfile.write(descriptor, {**content, "browser": browser})
    os.close(descriptor)


def test_the_session_of_another_program_is_left_alone(where: Volume, lock: Path) -> None:
    with subprocess.Popen(["sleep", "60"], start_new_session=True) as other:
        found = processes.find(other.pid)
        assert found is not None
        us = lockfile.this_process("browser", "3.1", where.machine)
        named = {**us, "pid": other.pid, "session": other.pid, "started": found.started - 1}
        assert lockfile.leftovers({**named, "binary": os.readlink(f"/proc/{other.pid}/exe")}) == []
        assert lockfile.leftovers({**named, "started": found.started, "binary": "/opt/else/chromium"}) == []
        other.kill()
