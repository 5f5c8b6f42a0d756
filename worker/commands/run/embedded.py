"""A durable Redis of this user's own, over a unix socket, for as long as one command runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koala.errors import Refused, StoreAway
from koala.fence import Fence
from koala.store.client import client_for
from worker import locks, processes
from worker.browser.wrap import DRIVER, Wrap
from worker.locks import LockHeld
from worker.processes import Process
from worker.volume import Volume

READY_S = 20.0
STOP_S = 10.0
LONGEST_FOLDER = 90
"""A socket's path has at most 107 bytes."""
DURABLE = (
    *("--port", "0", "--save", "", "--daemonize", "no"),
    *("--appendonly", "yes", "--appendfsync", "always", "--maxmemory-policy", "noeviction"),
)


@dataclass(frozen=True)
class Embedded:
    """A running server. Its process is below us and must be spared when a child is ended."""

    url: str
    process: Process


def program() -> Path | None:
    """redis-server, where this machine has it."""
    found = shutil.which("redis-server")
    return Path(found) if found else None


@contextmanager
def embedded(binary: Path, folder: Path, where: Volume) -> Iterator[Embedded]:
    """The server over the data in `folder`; it ends with us, whatever ends us.

    Raises Refused while another command uses it, StoreAway when it does not start.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _socket(folder) as socket:
        popen = _start(binary, folder, where, socket)
        _remove_others(folder, socket)
        try:
            yield Embedded(f"unix://{socket}", processes.find(popen.pid) or Process(popen.pid, 0))
        finally:
            _stop(popen)


def _remove_others(folder: Path, ours: Path) -> None:
    """Sockets of commands that were killed: the folder's lock is ours now."""
    for other in folder.glob("redis-*.sock"):
        if other != ours:
            other.unlink(missing_ok=True)


@contextmanager
def _socket(folder: Path) -> Iterator[Path]:
    """Where the socket is: beside the data, unless the kernel takes no path as long as that."""
    if len(os.fsencode(folder)) < LONGEST_FOLDER:
        yield folder / f"redis-{os.getpid()}.sock"
        return
    home = Path(tempfile.mkdtemp(prefix="koala-", dir="/tmp"))
    try:
        yield home / "redis.sock"
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _start(binary: Path, folder: Path, where: Volume, socket: Path) -> subprocess.Popen[bytes]:
    # Through the driver's wrapper: one server a folder by the kernel's lock, which dies with us.
    lock = locks.create(where, where.locks / "laptop-redis")
    wrap = Wrap.of(where, binary, os.getpid(), lock, Fence(0, 0), where.tmp)
    with (folder / "redis.log").open("ab") as log:
        popen = subprocess.Popen(
            [DRIVER, *DURABLE, "--dir", str(folder), "--unixsocket", str(socket), "--unixsocketperm", "700"],
            env={**os.environ, **wrap.variables()},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us, not for it
        )
    try:
        _wait(popen, socket, wrap, folder)
    except BaseException:
        _stop(popen)
        raise
    return popen


def _wait(popen: subprocess.Popen[bytes], socket: Path, wrap: Wrap, folder: Path) -> None:
    deadline = time.monotonic() + READY_S
    client = client_for(f"unix://{socket}")
    try:
        while not _answers(client.ping):
            if popen.poll() is not None:
                raise _fault(wrap, folder)
            if time.monotonic() > deadline:
                raise StoreAway(f"redis-server did not answer within {READY_S:g} s: see {folder}/redis.log")
            time.sleep(0.01)
    finally:
        client.close()


def _answers(ping: object) -> bool:
    try:
        return bool(callable(ping) and ping())
    except StoreAway:
        return False


def _fault(wrap: Wrap, folder: Path) -> Exception:
    refusal = wrap.refused()
    if isinstance(refusal, LockHeld):
        pid = refusal.holder.pid if refusal.holder else "?"
        return Refused(
            f"another `koala run` is using {folder} (its redis-server has pid {pid}): wait until it has ended, "
            "or set XDG_STATE_HOME to another directory"
        )
    return refusal or StoreAway(f"redis-server did not start: see {folder}/redis.log")


def _stop(popen: subprocess.Popen[bytes]) -> None:
    popen.terminate()
    try:
        popen.wait(STOP_S)
    except subprocess.TimeoutExpired:
        popen.kill()
        popen.wait()
