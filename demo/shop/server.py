"""The shop as a process of its own, for tests and the demo."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, Self

from demo.shop.book import OrderBook

ROOT = Path(__file__).resolve().parents[2]
START_S = 20.0
STOP_S = 20.0


class ShopProcess:
    """Runs `python -m demo.shop` over a directory, in a session of its own; a context manager.

    The port stays the same over restarts. The shop ends with this process, however this process ends.
    Its complaints are in `shop.log` in the directory.
    """

    host = "127.0.0.1"
    """Where it is reached from here."""

    def __init__(self, directory: Path, *, users: dict[str, str] | None = None, port: int = 0) -> None:
        self.directory = directory
        self.port = port
        self.book = OrderBook(directory / "orders.jsonl")
        self._options = [f"--user={name}:{password}" for name, password in (users or {}).items()]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where the shop is, without a slash at the end."""
        return f"http://{self.host}:{self.port}"

    @property
    def pid(self) -> int:
        """The process id. RuntimeError when the shop does not run."""
        return self._running().pid

    @property
    def logins(self) -> int:
        """How many logins there have ever been; also when the shop has ended."""
        path = self.directory / "logins.jsonl"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def start(self) -> None:
        """Start the shop and wait until it answers. RuntimeError with its complaint when it does not."""
        if self._process is not None:
            raise RuntimeError("the shop runs already")
        self.directory.mkdir(parents=True, exist_ok=True)
        port_file = self.directory / "port"
        port_file.unlink(missing_ok=True)
        self._process = self._spawn(port_file)
        try:
            self.port = self._wait_for_port(port_file)
            self.manners()
        except BaseException:
            self.kill()
            raise

    def stop(self) -> None:
        """End the shop with SIGTERM: what it has accepted goes into the book. Nothing when it has ended."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            self._process.send_signal(signal.SIGCONT)  # a frozen one would not see the other
        try:
            self._process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.kill()
        else:
            self._gone()

    def kill(self) -> None:
        """End the shop with SIGKILL, in the middle of whatever it does."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._gone()

    def restart(self) -> None:
        """Stop, and start again on the same port with good manners."""
        self.stop()
        self.start()

    def freeze(self) -> None:
        """Stop the process without ending it: the kernel goes on taking connections and nobody answers."""
        os.kill(self.pid, signal.SIGSTOP)
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WNOWAIT)

    def thaw(self) -> None:
        """Let a frozen shop go on."""
        os.kill(self.pid, signal.SIGCONT)

    def set_manners(self, **manners: Any) -> dict[str, Any]:
        """Change the manners named here (see `demo.shop.manners`). ValueError for a wrong one."""
        return self._ask("POST", "/manners", manners)

    def clear_manners(self) -> None:
        """Good manners from now on."""
        self._ask("DELETE", "/manners")

    def manners(self) -> dict[str, Any]:
        """`rules` in force, and how often each manner was `shown`."""
        return self._ask("GET", "/manners")

    def state(self) -> dict[str, Any]:
        """The shop's own account: `orders`, `references`, `pending`, `arrivals` by reference, `logins`."""
        return self._ask("GET", "/book")

    def _spawn(self, port_file: Path) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "demo.shop", "--until-stdin-ends", f"--port={self.port}"]
        command += [
            f"--data={self.directory.resolve()}",
            f"--port-file={port_file.resolve()}",
            *self._options,
        ]
        with (self.directory / "shop.log").open("ab") as log:
            return subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.PIPE, stdout=log, stderr=log, start_new_session=True
            )

    def _wait_for_port(self, port_file: Path) -> int:
        deadline = time.monotonic() + START_S
        while not port_file.exists():
            if self._running().poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the shop did not start: {self._complaint()}")
            time.sleep(0.01)
        return int(port_file.read_text())

    def _ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        connection = HTTPConnection(self.host, self.port, timeout=10)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            data: dict[str, Any] = json.loads(answer.read())
        finally:
            connection.close()
        if answer.status != 200:
            raise ValueError(data["error"])
        return data

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RuntimeError("the shop does not run")
        return self._process

    def _complaint(self) -> str:
        return (self.directory / "shop.log").read_text(errors="replace")[-2000:]

    def _gone(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        self._process = None
