"""A real, durable Redis of one's own, to be killed, frozen and started again."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import redis

from demo.redis import answers, free_port

DURABLE = (
    *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
    *("--maxmemory-policy", "noeviction", "--enable-debug-command", "local"),
)
MEMORY = Path("/dev/shm")  # noqa: S108 - a directory of its own is made in it
MEMORY_LEAST = 1 << 30
READY_S = 60.0
"""How long a start may take on a busy machine."""


class RedisServer:
    """One redis-server process over one data directory, which outlives the process.

    Port and socket stay the same over restarts. Every method returns when what it says has happened.
    """

    def __init__(self, users: str = "", conf: Path | None = None) -> None:
        """`users`: an access list; without one everybody may do everything. `conf`: used instead of our settings."""
        # Short: a socket's path has 107 bytes at most.
        self.home = Path(tempfile.mkdtemp(prefix="koala-redis-", dir=_memory()))
        self.socket = self.home / "redis.sock"
        self.port = free_port()
        self._conf = conf
        self._users = self.home / "users.acl"
        if users:
            self._users.write_text(users)
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """Over the port; the way of programs."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def socket_url(self) -> str:
        """Over the unix socket; the faster way."""
        return f"unix://{self.socket}?db=0"

    @property
    def pid(self) -> int:
        """Of the running process; AssertionError when it does not run."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start over the data directory and wait until it answers."""
        assert self._process is None
        command = ["redis-server", *self._settings()]
        with (self.home / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._wait_until_ready(self._process)

    def kill(self) -> None:
        """SIGKILL, at any state; the data directory stays as it is at this moment."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def restart(self) -> None:
        """Kill and start: what was acknowledged is there again."""
        self.kill()
        self.start()

    def freeze(self) -> None:
        """Stop it from answering; its connections stay open."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let a frozen one go on."""
        os.kill(self.pid, signal.SIGCONT)

    def close(self) -> None:
        """Kill and remove the data directory."""
        self.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def _settings(self) -> list[str]:
        return [
            *([str(self._conf)] if self._conf else ()),
            *("--port", str(self.port), "--bind", "127.0.0.1"),
            *("--unixsocket", str(self.socket), "--dir", str(self.home)),
            *(() if self._conf else DURABLE),
            *(("--aclfile", str(self._users)) if self._users.exists() else ()),
        ]

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_S
        known = {"username": "health", "password": "-"} if self._users.exists() else {}
        with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=READY_S, **known) as client:
            while not answers(client):
                assert process.poll() is None, f"redis-server ended: {(self.home / 'log').read_text()}"
                assert time.monotonic() < deadline, "redis-server did not answer in time"
                time.sleep(0.01)  # the pace of a wait for a condition


def _memory() -> Path | None:
    """Where files are kept in memory; None where there is little of it.

    Every write waits for the disk otherwise, and some disks take milliseconds for one. A process that is killed
    loses nothing by it: only a machine would.
    """
    there = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_LEAST
    return MEMORY if there else None
