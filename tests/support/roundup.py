"""A Roundup issue tracker as a process: somebody else's application, installed from its own locked requirements."""

from __future__ import annotations

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Self

from tests.support.ports import free_ports
from tests.support.waiting import until

LOCK = Path(__file__).with_name("roundup.lock")
BUILD_LOCK = Path(__file__).with_name("roundup-build.lock")
START_S = 60.0


class Roundup:
    """`roundup-demo` on a port of its own, run by an unprivileged user: it refuses root. A context manager."""

    def __init__(self) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="koala-roundup-"))
        self._home.chmod(0o755)
        self._popen: subprocess.Popen[bytes] | None = None
        (self.port,) = free_ports(1)

    @property
    def url(self) -> str:
        """The tracker's address."""
        return f"http://127.0.0.1:{self.port}/demo"

    def __enter__(self) -> Self:
        try:
            self._install()
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._popen:
            self._popen.kill()
            self._popen.wait()
        shutil.rmtree(self._home, ignore_errors=True)

    def _install(self) -> None:
        """Into a directory that any user can read; built by tools that are pinned too."""
        tools = self._home / "tools"
        subprocess.run([sys.executable, "-m", "venv", tools], check=True)
        install = [tools / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        install += ["--require-hashes", "--no-deps"]
        subprocess.run([*install, "-r", BUILD_LOCK], check=True)
        subprocess.run([*install, "--no-build-isolation", "-r", LOCK, "--target", self._home / "lib"], check=True)

    def _start(self) -> None:
        data = self._home / "data"
        data.mkdir()
        if os.geteuid() == 0:
            shutil.chown(data, "nobody")
        arguments = ["-B", "127.0.0.1", "-H", "127.0.0.1", "-b", "sqlite", "-t", "classic", "-p"]
        self._popen = subprocess.Popen(
            [_python(), self._home / "lib" / "bin" / "roundup-demo", *arguments, str(self.port), data / "demo"],
            user="nobody" if os.geteuid() == 0 else None,
            env={"PYTHONPATH": str(self._home / "lib"), "HOME": str(data), "PATH": os.defpath},
            cwd=data,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        until(self._answers, "Roundup answers", START_S)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/", timeout=30) as answer:  # noqa: S310 - loopback
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def titles(self) -> list[str]:
        """The title of every issue, by the tracker's own export."""
        query = "@action=export_csv&@columns=id,title&@sort=id&@pagesize=1000&@startwith=0"
        with urllib.request.urlopen(f"{self.url}/issue?{query}", timeout=60) as answer:  # noqa: S310 - loopback
            rows = list(csv.DictReader(answer.read().decode().splitlines()))
        return [row["title"] for row in rows if row["title"]]


def _python() -> str:
    """An interpreter that an unprivileged user can reach: the one of a home directory is not."""
    own = Path(sys.executable).resolve()
    reachable = all(part.stat().st_mode & 0o005 == 0o005 for part in own.parents)
    return str(own) if reachable or os.geteuid() != 0 else "/usr/bin/python3"
