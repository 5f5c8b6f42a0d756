"""An embedded Redis that loses nothing it has acknowledged."""

from __future__ import annotations

import random
import shutil
import socket
import subprocess
import time
from pathlib import Path

import redis

READY_S = 20.0
PORTS = range(20_000, 32_000)
"""Below what kernels hand out by themselves: nobody else takes the port while Redis is away."""


class EmbeddedRedis:
    """One redis-server over a directory of its own, on this machine's loopback only. The port stays the same."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Where it is."""
        return f"redis://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        """Of the running process. RuntimeError when it does not run."""
        if self._process is None:
            raise RuntimeError("Redis does not run")
        return self._process.pid

    def start(self) -> None:
        """Start it and wait until it answers. RuntimeError with what it said when it does not."""
        if shutil.which("redis-server") is None:
            raise RuntimeError("redis-server is missing: run `make install` as root")
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / "redis.log").open("ab") as log:
            self._process = subprocess.Popen(
                with_us(self._command()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._wait_until_ready(self._process)

    def kill(self) -> None:
        """SIGKILL; returns when it is gone. Its directory stays as it is at that moment."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """End it in order. Nothing when it does not run."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(5)
            self._process = None
        except subprocess.TimeoutExpired:
            self.kill()

    def _command(self) -> list[str]:
        return [
            "redis-server",
            *("--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.home.resolve())),
            *("--appendonly", "yes", "--appendfsync", "always", "--save", ""),
            *("--maxmemory-policy", "noeviction"),
        ]

    def _wait_until_ready(self, process: subprocess.Popen[bytes]) -> None:
        deadline = time.monotonic() + READY_S
        with redis.Redis(port=self.port, socket_timeout=READY_S) as client:
            while not answers(client):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"Redis did not start; its last words are in {self.home / 'redis.log'}")
                time.sleep(0.01)


def with_us(command: list[str]) -> list[str]:
    """The command, ended by the kernel should we be killed ourselves (where util-linux is there to arrange it)."""
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL", "--", *command] if found else command


def answers(client: redis.Redis) -> bool:
    """Whether it takes commands: one that loads its data does not yet."""
    try:
        return bool(client.ping())
    except redis.exceptions.ConnectionError:
        return False


def free_port() -> int:
    """A port of PORTS that nobody listens on. RuntimeError when there is none."""
    for port in random.sample(PORTS, 200):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError("no free port was found for Redis")
