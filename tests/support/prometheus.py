"""A real Prometheus on loopback, with production's configuration and rules in a shorter time."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Self

import httpx2

from monitoring import scale
from tests.support.prometheus_view import PrometheusView
from tests.support.waiting import until

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "monitoring" / "prometheus"
READY_S = 30.0
SCRAPE_MS = 2000
"""Not scaled, and the time limit of a scrape too: on a busy machine it takes as long as it does."""

FOUND_BY_NAME = re.compile(r"    dns_sd_configs:\n.*names: \[(\w+)\]\n(?:      .*\n)+")
"""What stands for the engine's resolver here: a file that lists who runs."""


class Prometheus(PrometheusView):
    """A context manager. `factor` is how much shorter every duration is than in production."""

    def __init__(self, factor: float, port: int) -> None:
        super().__init__(f"http://127.0.0.1:{port}", factor)
        self.port = port
        self.home = Path(tempfile.mkdtemp(prefix="koala-prometheus-"))
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._configure()
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Kill it and remove what it stored."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self.http.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def found(self, job: str, ports: Iterable[int]) -> None:
        """Let the programs of a job be these, by their metrics ports: what the resolver would answer from now on."""
        listed = [{"targets": [f"127.0.0.1:{port}" for port in ports]}]
        new = self.home / "targets" / f"{job}.new"
        new.write_text(json.dumps(listed))
        new.rename(self.home / "targets" / f"{job}.json")

    def log(self) -> str:
        """What it has written."""
        return (self.home / "log").read_text(errors="replace")

    def _configure(self) -> None:
        (self.home / "targets").mkdir()
        scale.copy(self.factor, SOURCE, self.home)
        config = self.home / "prometheus.yml"
        files = rf"    file_sd_configs:\n      - files: [{self.home}/targets/\1.json]\n"
        text = FOUND_BY_NAME.sub(files, config.read_text())
        text = re.sub(r"scrape_interval: \w+", f"scrape_interval: {SCRAPE_MS}ms", text)
        config.write_text(text.replace("127.0.0.1:9090", f"127.0.0.1:{self.port}"))

    def _start(self) -> None:
        lookback = max(1, round(300_000 * self.factor))  # five minutes, as in production
        command = [
            *("setpriv", "--pdeathsig", "KILL", "prometheus"),
            f"--config.file={self.home}/prometheus.yml",
            f"--storage.tsdb.path={self.home}/data",
            f"--web.listen-address=127.0.0.1:{self.port}",
            f"--query.lookback-delta={lookback}ms",
            "--log.level=warn",
        ]
        with (self.home / "log").open("ab") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        until(self._ready, f"Prometheus is ready: {self.log()}", READY_S)

    def _ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, self.log()
        try:
            return bool(self.http.get("/-/ready").status_code == 200)
        except httpx2.TransportError:
            return False
