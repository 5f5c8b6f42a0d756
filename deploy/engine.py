"""Docker, by its command line. Each command runs in a session of its own, so that Ctrl-C reaches only this tool."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy import advice
from deploy.exits import Exit
from deploy.problem import DockerFailed, Problem

QUICK_S = 120.0
"""A question to the engine that takes longer is given up: it hangs."""
LINES = 40
TOLD = 3
"""Lines of an error that are shown."""
PROGRESS = re.compile(r"\s*(Container|Network|Volume|Image) \S+\s+[A-Z]\w+\s*$")
"""What Compose says while it works."""
OLDEST_ENGINE = (20, 10)
OLDEST_COMPOSE = (2, 20)


@dataclass(frozen=True)
class Ran:
    """What a command said and how it ended."""

    code: int
    out: str
    err: str


class Engine:
    """Docker commands from the project's directory with one environment."""

    def __init__(self, root: Path, environ: Mapping[str, str]) -> None:
        self.root = root
        self.environ = dict(environ)
        self.lent: tuple[int, ...] = ()
        """Descriptors that its commands inherit: a lock that is theirs too."""

    def docker(self, *args: str, env: Mapping[str, str] | None = None, timeout_s: float | None = QUICK_S) -> str:
        """Standard output of a command. Raises DockerFailed with what to do."""
        ran = self.tried(*args, env=env, timeout_s=timeout_s)
        if ran.code:
            raise failed(args, ran.code, ran.err or ran.out)
        return ran.out

    def tried(self, *args: str, env: Mapping[str, str] | None = None, timeout_s: float | None = QUICK_S) -> Ran:
        """The same, also when it fails. Raises Problem without Docker, or when it takes longer."""
        try:
            done = subprocess.run(
                ["docker", *args],
                cwd=self.root,
                env={**self.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=timeout_s,
                pass_fds=self.lent,
                start_new_session=True,
                check=False,
            )
        except FileNotFoundError:
            raise missing() from None
        except subprocess.TimeoutExpired:
            text = f"`{shown(args)}` has not ended within {timeout_s:.0f} s"
            raise Problem(text, "see whether Docker hangs: `docker info`", Exit.ENGINE) from None
        return Ran(done.returncode, done.stdout, done.stderr)

    def watched(self, *args: str, env: Mapping[str, str] | None = None) -> None:
        """A long command whose own words are shown while it runs. Raises DockerFailed."""
        last: deque[str] = deque(maxlen=LINES)
        try:
            running = subprocess.Popen(
                ["docker", *args],
                cwd=self.root,
                env={**self.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                pass_fds=self.lent,
                start_new_session=True,
            )
        except FileNotFoundError:
            raise missing() from None
        assert running.stdout is not None  # noqa: S101 - it was asked for
        for line in running.stdout:
            sys.stderr.write(line)
            last.append(line)
        if code := running.wait():
            raise failed(args, code, "".join(last))

    def lines(self, *args: str, env: Mapping[str, str] | None = None) -> list[str]:
        """Standard output by lines, without empty ones."""
        return [line for line in self.docker(*args, env=env).splitlines() if line.strip()]

    def inspect(self, *ids: str) -> list[dict[str, Any]]:
        """What the engine knows of these; those that are gone meanwhile are left out."""
        if not ids:
            return []
        ran = self.tried("inspect", *ids)
        if ran.code and "no such" not in ran.err.lower():
            raise failed(("inspect", *ids), ran.code, ran.err)
        found: list[dict[str, Any]] = json.loads(ran.out or "[]")
        return found

    def check(self) -> None:
        """Whether this machine can do it. Raises Problem with what is missing or too old."""
        server = self.docker("version", "--format", "{{.Server.Version}}").strip()
        _at_least("Docker's engine", server, OLDEST_ENGINE)
        compose = self.tried("compose", "version", "--short")
        if compose.code:
            raise Problem(
                "Docker Compose is missing: `docker compose version` fails",
                "install Docker's Compose plugin, 2.20 or newer (docker-compose-plugin, or docker-compose-v2)",
                Exit.ENGINE,
            )
        _at_least("Docker Compose", compose.out.strip().removeprefix("v"), OLDEST_COMPOSE)


def missing() -> Problem:
    """There is no `docker` here."""
    return Problem("there is no `docker` command", "install Docker and its Compose plugin", Exit.ENGINE)


def shown(args: tuple[str, ...]) -> str:
    """A command as a person would type it."""
    return shlex.join(["docker", *args])


def failed(args: tuple[str, ...], code: int, said: str) -> DockerFailed:
    """The error of a command, its last lines and what to do."""
    told = [line.strip() for line in said.splitlines() if line.strip() and not PROGRESS.match(line)]
    what, exit_code = advice.about(said)
    return DockerFailed(shown(args), code, " · ".join(told[-TOLD:]), what, exit_code)


def _at_least(name: str, version: str, oldest: tuple[int, int]) -> None:
    found = re.match(r"(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < oldest:
        wanted = ".".join(map(str, oldest))
        raise Problem(f"{name} is {version}; Koala needs {wanted} or newer", f"update {name}", Exit.ENGINE)
