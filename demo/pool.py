"""The pool as processes: a Redis, the shop, schedulers and workers, started and replaced as Compose would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from demo import plan, processes
from demo.redis import EmbeddedRedis, with_us
from demo.shop.server import ShopProcess

ROOT = Path(__file__).resolve().parents[1]
DRAIN_S = 20.0
KEPT = ("KOALA_CHROMIUM", "KOALA_HEADLESS_SHELL")
"""Settings of the user's that hold here too: where the browsers are."""


class Program:
    """One `python -m MODULE`. Its output goes to a file named like it."""

    def __init__(self, name: str, module: str, environment: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self.log = logs / f"{name.replace(' ', '-')}.log"
        self._killed = False
        with self.log.open("ab") as log:
            self._popen = subprocess.Popen(
                with_us([sys.executable, "-m", module]),
                cwd=ROOT,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._popen.pid

    @property
    def alive(self) -> bool:
        """Whether it runs or is frozen."""
        return self._popen.poll() is None

    @property
    def complaint(self) -> str:
        """What is wrong with how it ended; empty while it runs, and when it was killed or ended in order."""
        code = self._popen.poll()
        if not code or self._killed:
            return ""
        return f"{self.name} ended by itself with {code}; its last words are in {self.log}"

    def terminate(self) -> None:
        """Ask it to end."""
        if self.alive:
            self._popen.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """SIGKILL it and everything below it."""
        self._killed = True
        processes.kill_all(processes.tree(self.pid))
        self._popen.wait()

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within the time."""
        try:
            self._popen.wait(max(seconds, 0))
        except subprocess.TimeoutExpired:
            return False
        return True


class Pool:
    """Everything that runs in the demo, below one directory."""

    def __init__(self, home: Path, *, sandbox: bool) -> None:
        self.home = home
        self.logs = home / "logs"
        self.redis = EmbeddedRedis(home / "redis")
        self.shop = ShopProcess(home / "shop")
        self.workers: list[Program] = []
        self.schedulers: list[Program] = []
        self._settings = plan.environment(home / "data", self.redis.url, sandbox=sandbox)

    def start(self) -> None:
        """Start everything; the workers are still on their way when this returns."""
        self.logs.mkdir(parents=True)
        (self.home / "tmp").mkdir()
        self.redis.start()
        for _ in range(2):
            self.add_scheduler()
        for _ in range(plan.WORKERS):
            self.add_worker()
        self.shop.start()

    def add_worker(self) -> Program:
        """One more worker."""
        worker = self._program(f"worker {len(self.workers) + 1}", "worker")
        self.workers.append(worker)
        return worker

    def add_scheduler(self) -> Program:
        """One more scheduler."""
        scheduler = self._program(f"scheduler {len(self.schedulers) + 1}", "scheduler")
        self.schedulers.append(scheduler)
        return scheduler

    def end_orphans(self) -> None:
        """End what a killed program of ours has left behind: it has become a child of ours."""
        known = {program.pid for program in (*self.workers, *self.schedulers)}
        known |= {self.redis.pid, self.shop.pid}
        for child in psutil.Process().children():
            if child.pid not in known:
                processes.kill_all(processes.tree(child.pid))
        processes.reap_orphans(known)

    @property
    def complaints(self) -> list[str]:
        """What ended that should not have."""
        programs = (*self.workers, *self.schedulers)
        return [program.complaint for program in programs if program.complaint]

    def stop(self) -> list[str]:
        """Drain the workers, then end the rest. Says what did not end well, or in time; the late go on running."""
        programs = [*self.workers, *self.schedulers]
        for program in programs:
            program.terminate()
        deadline = time.monotonic() + DRAIN_S
        late = [program.name for program in programs if not program.wait(deadline - time.monotonic())]
        self.shop.stop()
        self.redis.stop()
        return [f"{name} did not end within {DRAIN_S:g} s of being asked" for name in late] + self.complaints

    def _program(self, name: str, module: str) -> Program:
        ours = {name: value for name, value in os.environ.items() if name in KEPT or not name.startswith("KOALA_")}
        given = {**ours, **self._settings, "TMPDIR": str(self.home / "tmp"), "PYTHONUNBUFFERED": "1"}
        return Program(name, module, given, self.logs)
