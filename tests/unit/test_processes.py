"""Process trees by pid and start time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.waiting import until
from worker import processes
from worker.processes import Process

ROOT = Path(__file__).resolve().parents[2]


def start(script: str, *, own_session: bool = False) -> subprocess.Popen[bytes]:
    return subprocess.Popen(["sh", "-c", script], cwd=ROOT, start_new_session=own_session)


def named(process: subprocess.Popen[bytes]) -> Process:
    found = processes.find(process.pid)
    assert found is not None
    return found


def test_a_tree_is_ended_to_its_last_leaf() -> None:
    with start("sh -c 'sleep 60 & sleep 60' & sh -c 'sleep 60; true'; true") as run:
        root = named(run)
        until(lambda: len(processes.tree(root)) == 6, "the whole tree")
        family = processes.tree(root)
        assert processes.end_tree([root]) == []
        assert not any(processes.is_alive(process) for process in family)


def test_frozen_processes_are_ended_too() -> None:
    with start("sleep 60 & sleep 60; true") as run:
        root = named(run)
        until(lambda: len(processes.tree(root)) == 3, "the whole tree")
        for process in processes.tree(root):
            os.kill(process.pid, signal.SIGSTOP)
        assert processes.end_tree([root]) == []


def test_members_of_a_session_are_ended_though_their_parent_is_gone() -> None:
    with start("sleep 60 & exit", own_session=True) as run:
        run.wait()
        until(lambda: processes.session_members(run.pid), "the orphan")
        assert processes.end_tree([], sessions=[run.pid]) == []
        assert processes.session_members(run.pid) == []


def test_a_later_process_with_the_same_pid_is_not_touched() -> None:
    with start("sleep 60; true") as run:
        root = named(run)
        earlier = Process(root.pid, root.started - 1)
        assert not processes.is_alive(earlier)
        assert not processes.end(earlier)
        assert processes.end_tree([earlier]) == []
        assert processes.is_alive(root)
        processes.end_tree([root])


def test_a_zombie_is_not_alive() -> None:
    with start("exit 0") as run:
        root = Process(run.pid, 0)
        until(lambda: processes.find(root.pid) is None, "the end")
        assert Path(f"/proc/{run.pid}").exists()


SUBREAPER = """
import subprocess, sys, time
from worker import processes
processes.set_child_subreaper()
child = subprocess.Popen(["sh", "-c", "sleep 60 & sh -c 'sleep 60 & sleep 0.01; exit 3' & exit 0"])
child.wait()
while len(processes.tree(processes.this())) < 3: time.sleep(0.01)
assert processes.end_below(processes.this()) == []
reaped = {}
while processes.children(processes.this().pid) or len(reaped) < 2: reaped.update(processes.reap_orphans())
print(len(reaped), processes.tree(processes.this()) == [processes.this()])
"""


def test_a_subreaper_ends_and_reaps_what_its_children_left_behind() -> None:
    run = subprocess.run(
        [sys.executable, "-c", SUBREAPER], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    count, alone = run.stdout.split()
    assert int(count) >= 2
    assert alone == "True"


def test_the_parents_death_ends_the_child_and_an_earlier_death_is_noticed() -> None:
    code = (
        "import os, sys, time\nfrom worker import processes\n"
        "assert not processes.set_parent_death_signal(1)\n"
        "assert processes.set_parent_death_signal(int(sys.argv[1]))\n"
        "print(os.getpid(), flush=True)\ntime.sleep(60)"
    )
    spawn = f"subprocess.Popen([sys.executable, '-c', {code!r}, str(os.getpid())]).wait()"
    outer = f"import os, subprocess, sys\n{spawn}"
    with subprocess.Popen([sys.executable, "-c", outer], cwd=ROOT, stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        child = processes.find(int(parent.stdout.readline()))
        assert child is not None
        parent.kill()
        until(lambda: not processes.is_alive(child), "the child's end")


@pytest.mark.parametrize("known", [True, False])
def test_reaping_leaves_those_that_others_wait_for(known: bool) -> None:
    pid = os.posix_spawn("/bin/true", ["true"], {})
    until(lambda: processes.find(pid) is None, "the end")
    reaped = processes.reap_orphans([pid] if known else [])
    assert (pid in reaped) is not known
    if known:
        assert processes.reap([pid]) == {pid: 0}


def test_memory_is_counted() -> None:
    assert processes.memory_megabytes([processes.this()]) > 5


THREADS = """
import os, threading, time
def linger():
    print(os.getpid(), flush=True)
    time.sleep(60)
threading.Thread(target=linger).start()
import ctypes
ctypes.CDLL(None).syscall(60, 0)  # the main thread alone
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="names a system call by its number")
def test_a_process_whose_main_thread_has_ended_is_alive_while_another_runs() -> None:
    """Its files and locks are still held."""
    with subprocess.Popen([sys.executable, "-c", THREADS], stdout=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.readline()
        until(lambda: " Z " in Path(f"/proc/{run.pid}/stat").read_text(), "the main thread's end")
        assert processes.find(run.pid) is not None
        run.kill()
        run.wait()
