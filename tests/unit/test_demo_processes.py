"""The demo finds, freezes and ends exactly what it has started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from demo import processes
from tests.support.waiting import until

PARENT = "import subprocess, sys; subprocess.Popen(['sleep', '600']); print('up', flush=True); sys.stdin.read()"


@pytest.fixture
def parent(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process with a child of its own, both at work in `tmp_path`."""
    with subprocess.Popen(
        [sys.executable, "-c", PARENT], cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"up\n"
        tree = processes.tree(process.pid)
        try:
            yield process
        finally:
            processes.kill_all(tree)


def states(tree: list[psutil.Process]) -> set[str]:
    return {process.status() for process in tree}


def test_a_tree_is_the_process_and_what_it_started_parents_first(parent: subprocess.Popen[bytes]) -> None:
    found = processes.tree(parent.pid)
    assert found[0].pid == parent.pid
    assert [process.name() for process in found[1:]] == ["sleep"]


def test_a_process_that_is_gone_has_no_tree(parent: subprocess.Popen[bytes]) -> None:
    processes.kill_all(processes.tree(parent.pid))
    parent.wait()
    assert processes.tree(parent.pid) == []
    assert processes.below(parent.pid) == []


def test_freezing_stops_the_whole_tree_and_thawing_lets_it_go_on(parent: subprocess.Popen[bytes]) -> None:
    frozen = processes.freeze(parent.pid)
    assert len(frozen) == 2
    until(lambda: states(frozen) == {psutil.STATUS_STOPPED}, "all frozen")
    processes.thaw(frozen)
    until(lambda: psutil.STATUS_STOPPED not in states(frozen), "all thawed")


def test_a_frozen_tree_can_be_killed(parent: subprocess.Popen[bytes]) -> None:
    frozen = processes.freeze(parent.pid)
    processes.kill_all(frozen)
    assert parent.wait(60) == -signal.SIGKILL
    until(lambda: not any(map(processes.lives, frozen)), "all gone")


def test_thawing_what_has_ended_is_harmless(parent: subprocess.Popen[bytes]) -> None:
    frozen = processes.freeze(parent.pid)
    processes.kill_all(frozen)
    parent.wait()
    processes.thaw(frozen)


def test_leftovers_are_those_that_work_in_the_directory(parent: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert {process.pid for process in processes.leftovers(tmp_path)} == {
        process.pid for process in processes.tree(parent.pid)
    }


def test_leftovers_of_a_directory_are_not_those_of_one_whose_name_begins_alike(
    parent: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert processes.leftovers(Path(str(tmp_path)[:-1])) == []


ORPHAN = """
import os, subprocess, sys
from demo import processes
processes.become_subreaper()
subprocess.run(["sh", "-c", "sleep 600 & exit 0"], check=True)
print(len(processes.below(os.getpid())), len(processes.end_all_below_us()), len(processes.below(os.getpid())))
"""


def test_an_orphan_stays_in_sight_and_is_ended() -> None:
    root = Path(processes.__file__).parents[1]
    told = subprocess.run([sys.executable, "-c", ORPHAN], cwd=root, capture_output=True, text=True, timeout=60)
    assert told.stdout.split() == ["1", "0", "0"], told.stderr


def test_our_own_process_is_never_a_leftover() -> None:
    assert os.getpid() not in {process.pid for process in processes.leftovers(Path.cwd())}
