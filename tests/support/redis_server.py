"""A real, durable Redis of one's own, to be killed, frozen and started again."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

import redis

READY_S = 20.0
"""How long a start may take on a busy machine."""


class RedisServer:
    """One redis-server process over one data directory, which outlives the process.

    Port and socket stay the same over restarts. Every method returns when what it says has happened.
    """

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="koala-redis-"))  # short: a socket's path has 107 bytes at most
        self.socket = self.home / "redis.sock"
        self.port = _free_port()
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
            *("--port", str(self.port), "--bind", "127.0.0.1"),
            *("--unixsocket", str(self.socket), "--dir", str(self.home)),
            *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
            *("--maxmemory-policy", "noeviction", "--enable-debug-command", "local"),
        ]

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_S
        with redis.Redis(unix_socket_path=str(self.socket), socket_timeout=READY_S) as client:
            while not _answers(client):
                assert process.poll() is None, f"redis-server ended: {(self.home / 'log').read_text()}"
                assert time.monotonic() < deadline, "redis-server did not answer in time"
                time.sleep(0.01)  # the pace of a wait for a condition


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.exceptions.ConnectionError:  # loading its data counts as well
        return False


def _free_port() -> int:
    """A port below those of outgoing connections: none of them can sit on it while the server is down."""
    for port in random.sample(range(20_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise AssertionError("no free port")
