"""Real processes that hold a lock or pretend to be a browser, ended by their Popen object."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.waiting import until
from worker import locks
from worker.browser.wrap import HERE
from worker.volume import Volume
from worker.wrappers import wrapper

ROOT = Path(__file__).resolve().parents[2]

TAKE = """
import sys
from pathlib import Path
from koala.fence import Fence
from worker import locks, volume
where = volume.open_volume(Path(sys.argv[1]))
held = locks.take(where, Path(sys.argv[2]), "child", Fence.parse(sys.argv[3]))
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def holder(where: Volume, path: Path, fence: str) -> Iterator[subprocess.Popen[bytes]]:
    """Another process that holds the lock; killed at the end."""
    command = [sys.executable, "-c", TAKE, str(where.path), str(path), fence]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"held\n"
            yield process
        finally:
            process.kill()


def wrapped(
    where: Volume,
    lock: Path,
    fence: str,
    *arguments: str,
    role: str = "driver",
    binary: str = "/bin/sleep",
    parent: int | None = None,
    script: Path = HERE,
    pass_fds: Sequence[int] = (),
) -> subprocess.Popen[bytes]:
    """A run of a wrapper over any program, in a session of its own as Playwright starts browsers."""
    environment = {
        **os.environ,
        "TMPDIR": str(where.tmp),
        wrapper.PYTHON: getattr(sys, "_base_executable", sys.executable),
        wrapper.BINARY: binary,
        wrapper.PARENT: str(parent or os.getpid()),
        wrapper.LOCK: str(lock),
        wrapper.FENCE: fence,
        wrapper.MACHINE: where.machine,
        wrapper.REFUSAL_FILE: str(where.tmp / "refusal.json"),
    }
    return subprocess.Popen(
        [script / role, *arguments],
        env=environment,
        pass_fds=pass_fds,
        start_new_session=True,
        stderr=subprocess.PIPE,
    )


def wait_until_held(where: Volume, path: Path, role: str) -> None:
    """Until the wrapper has taken the lock and has become its program."""

    def held() -> bool:
        holder = locks.read(where, path)  # a proof would take the lock that the wrapper is after
        return holder is not None and holder.role == role

    until(held, f"{path.name} held by a {role}")
