"""A live pool with a real Prometheus that watches it."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from typing import Any, Self

import httpx2

from tests.support.live_pool import LONG_S, LivePool
from tests.support.ports import free_ports
from tests.support.program import Program
from tests.support.prometheus import Prometheus


class WatchedPool:
    """A context manager: two schedulers and, when it is `calm`, two workers of one slot each."""

    def __init__(self, factor: float) -> None:
        self._stack = ExitStack()
        self._factor = factor
        self._ports: dict[Program, int] = {}
        self._jobs: dict[str, list[Program]] = {"worker": [], "scheduler": []}
        self.pool: LivePool
        self.prometheus: Prometheus

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            starts = stack.enter_context(tempfile.TemporaryDirectory(prefix="koala-starts-"))
            self.pool = stack.enter_context(LivePool(KOALA_STARTS=starts, KOALA_LAUNCH_CHECK="0"))
            self.prometheus = stack.enter_context(Prometheus(self._factor, *free_ports(1)))
            for _ in range(2):
                self.start("scheduler")
            self.calm()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def start(self, job: str) -> Program:
        """Start one more of a program, and have the resolver answer it."""
        (port,) = free_ports(1)
        more = {"KOALA_METRICS_PORT": str(port)}
        program = self.pool.worker(1, **more) if job == "worker" else self.pool.scheduler(**more)
        self._ports[program] = port
        self._jobs[job].append(program)
        self._resolve(job)
        return program

    @property
    def workers(self) -> list[Program]:
        """Those that the resolver answers."""
        return list(self._jobs["worker"])

    @property
    def programs(self) -> list[Program]:
        """All that the resolver answers."""
        return [program for programs in self._jobs.values() for program in programs]

    def scrape(self, program: Program) -> str:
        """What it shows now."""
        return httpx2.get(f"http://127.0.0.1:{self._ports[program]}/metrics", timeout=30, trust_env=False).text

    def calm(self) -> None:
        """Until two workers are there, all is well, and no alert fires."""
        while len(self.workers) < 2:
            self.start("worker")
        self.pool.until_slots(2)
        self.until("koala:workers", 2)
        self.pool.until(lambda: self.prometheus.state() in ("fine", "idle"), "the pool is well")
        self.pool.until(lambda: not self.prometheus.firing(), "no alert fires")

    def until(self, expr: str, value: float, within_s: float = LONG_S) -> None:
        """Until an expression, whose durations are production's, has this value."""
        self.pool.until(lambda: self.value(expr) == value, f"{expr} is {value}, not {self.value(expr)}", within_s)

    def value(self, expr: str) -> float | None:
        """The one value of an expression; None without data."""
        return self.prometheus.value(self.prometheus.scaled(expr))

    def query(self, expr: str) -> list[dict[str, Any]]:
        """The series of an expression."""
        return self.prometheus.query(self.prometheus.scaled(expr))

    def _resolve(self, job: str) -> None:
        self.tell(self.prometheus, job)

    def tell(self, prometheus: Prometheus, *jobs: str) -> None:
        """Answer a Prometheus who runs now."""
        for job in jobs:
            prometheus.found(job, [self._ports[program] for program in self._jobs[job]])
