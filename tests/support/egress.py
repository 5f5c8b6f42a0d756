"""The egress proxy as a container, between a place outside and one inside; everything is gone afterwards.

The place outside is its name server too: see tests/support/outside.py.
"""

from __future__ import annotations

import http.client
import json
import random
import socket
import subprocess
import time
import uuid
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tests.support.waiting import until

HERE = Path(__file__).parent
OUTSIDE = "11.22.{}.80"
"""An address that is outside for everybody; here it leads nowhere but into a network of the test's own."""
CONFINED = ("--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--pids-limit", "64")
IPV6 = ("--sysctl", "net.ipv6.conf.all.disable_ipv6=0")
TMP = ("--tmpfs", "/tmp")  # noqa: S108 - inside the container
LONG_S = 30.0


def docker(*words: str) -> str:
    """What the engine's client says; AssertionError with its reason when it fails."""
    done = subprocess.run(["docker", *words], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, f"docker {words}: {done.stderr}"
    return done.stdout.strip()


class Answer(tuple[int, bytes, dict[str, str]]):
    """A status, a body, the headers."""

    @property
    def status(self) -> int:
        return self[0]

    @property
    def seen(self) -> Any:
        """What the place outside was asked, and who came so far."""
        return json.loads(self[1])

    @property
    def headers(self) -> dict[str, str]:
        return self[2]


class Egress:
    """A context manager: `outside.test` is outside, `inside.test` leads to a private address, both are one server."""

    def __init__(self, image: str, python: str, *, allow: str = "", only: str = "") -> None:
        self._image, self._python = image, python
        self.outside = OUTSIDE.format(random.randrange(256))
        self._lists = {"KOALA_EGRESS_ALLOW": allow, "KOALA_EGRESS_ONLY": only.format(outside=self.outside)}
        self._stack = ExitStack()
        self._name = f"koala-egress-{uuid.uuid4().hex[:8]}"
        self.inside = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for network, options in (("out", ("--subnet", f"{self.outside}/24")), ("in", ())):
                docker("network", "create", "--internal", *options, f"{self._name}-{network}")
                stack.callback(docker, "network", "rm", f"{self._name}-{network}")
            self._server(stack)
            names = [f"{name}.test:{self.outside}" for name in ("outside", "deep.outside", "both")]
            names += [f"inside.test:{self.inside}", "both.test:10.0.0.1", "loop.test:127.0.0.1", "six.test:::1"]
            hosts = ["--dns", self.outside, *(word for name in names for word in ("--add-host", name))]
            lists = [word for name, text in self._lists.items() for word in ("--env", f"{name}={text}")]
            self._start(stack, self._name, self._image, [*CONFINED, *IPV6, *TMP, *hosts, *lists], [])
            self._join(self._name, "in")
            self.address = self._address(self._name, "out")
            until(self._answers, "the proxy", LONG_S)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def _server(self, stack: ExitStack) -> None:
        name = f"{self._name}-server"
        script = ["--volume", f"{HERE / 'outside.py'}:/outside.py:ro", "--ip", self.outside]
        self._start(stack, name, self._python, script, ["python3", "/outside.py", "80", "443", "22", "8080"])
        self._join(name, "in")
        self.inside = self._address(name, "in")
        self._server_name = name
        until(lambda: "ready" in docker("logs", name), "the server", LONG_S)

    def _start(self, stack: ExitStack, name: str, image: str, options: list[str], command: list[str]) -> None:
        network = f"{self._name}-out"
        docker("run", "--detach", "--pull", "never", "--name", name, "--network", network, *options, image, *command)
        stack.callback(docker, "rm", "--force", name)

    def _join(self, name: str, network: str) -> None:
        docker("network", "connect", f"{self._name}-{network}", name)

    def _address(self, name: str, network: str) -> str:
        where = f'{{{{(index .NetworkSettings.Networks "{self._name}-{network}").IPAddress}}}}'
        return docker("inspect", "--format", where, name)

    def _answers(self) -> bool:
        try:
            with socket.create_connection((self.address, 3128), 1):
                return True
        except OSError:
            return False

    def get(self, url: str, method: str = "GET", **headers: str) -> Answer:
        """One plain request through the proxy."""
        client = http.client.HTTPConnection(self.address, 3128, timeout=LONG_S)
        try:
            client.request(method, url, headers=headers)
            answer = client.getresponse()
            return Answer((answer.status, answer.read(), {name.lower(): text for name, text in answer.getheaders()}))
        finally:
            client.close()

    def connect(self, place: str) -> tuple[int, socket.socket]:
        """A tunnel: the proxy's status and the connection, which the caller closes."""
        link = socket.create_connection((self.address, 3128), LONG_S)
        link.sendall(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        return int(read_head(link).split()[1]), link

    def status(self, place: str) -> int:
        """The proxy's status for a tunnel."""
        status, link = self.connect(place)
        link.close()
        return status

    def log(self) -> list[dict[str, Any]]:
        """What it has logged of requests."""
        lines = docker("logs", self._name).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def run(self, *words: str) -> str:
        """A command inside."""
        return docker("exec", self._name, *words)

    def restart(self) -> float:
        """Stop it as the engine does, and start it; the seconds that the stop took."""
        before = time.monotonic()
        docker("stop", self._name)
        took = time.monotonic() - before
        docker("start", self._name)
        self.address = self._address(self._name, "out")
        until(self._answers, "the proxy", LONG_S)
        return took


def read_head(link: socket.socket) -> str:
    """An answer's head, and not a byte more."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = link.recv(1)
        assert byte, f"the proxy hung up after {head!r}"
        head += byte
    return head.decode("latin-1")
