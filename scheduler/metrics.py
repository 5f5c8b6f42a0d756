"""What a scheduler answers at `/metrics`: itself, and for the whole pool while it is the active one."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from koala import metrics, queue
from koala.clock import boottime
from koala.logs import log
from koala.meters import Look, Meters, Read, Values, build_labels, registry, serve
from koala.metrics import Of
from koala.settings import Settings
from koala.store import Store
from koala.store.client import client_for
from koala.store.connection import durability
from scheduler import pool
from scheduler.duties import Duty
from scheduler.leader import Leader
from scheduler.limited import Limited

LIMIT_S = 3.0
"""A scrape does not wait longer for the store."""


class SchedulerMetrics:
    """Looks at the store each time it is asked, over connections of its own."""

    def __init__(self, config: Settings, leader: Leader, duties: Sequence[Duty]) -> None:
        self._config = config
        self._leader = leader
        self._duties = duties
        self._store = Store(client_for(config.redis_url, config.password, config.redis_user))
        self._rq = queue.connect(config.redis_url, config.password, config.redis_user)
        self._limited = Limited(self._look, LIMIT_S)
        self._durable = self._up = self._active = False
        self._errors, self._took_s = 0, 0.0
        self.away = False
        """Whether the scheduler itself found the store away, or not to be written to, in its last round."""
        self.shown = registry()
        own = [metric for metric in metrics.of(Of.SCHEDULER) if metric is not metrics.TICK]
        self.shown.register(Read(metrics.of(Of.POOL), self._pool))  # first: it says how the store is
        self.shown.register(Read([*own, metrics.BUILD], self._own))
        self._meters = Meters(self.shown, [metrics.TICK], {})

    def serve(self) -> None:
        """Answer from a thread, where the settings say so."""
        if self._config.metrics_port:
            serve(self.shown, self._config.metrics_host, self._config.metrics_port)

    @contextmanager
    def round(self) -> Iterator[None]:
        """Around one round of the duties."""
        began = boottime()
        try:
            yield
        finally:
            self._meters.observe(metrics.TICK, boottime() - began)

    def _pool(self) -> Look | None:
        """The pool's numbers; None on a standby, and when they could not be had in time."""
        began, active = time.monotonic(), self._leader.active
        try:
            seen = self._limited()
            self._up = True
        except Exception as error:  # noqa: BLE001 - whatever it is, the scheduler's own numbers are shown
            log().warning("look_failed", error=str(error)[:200])
            self._up = self._durable = False
            self._errors += 1
            seen = None
        self._took_s = time.monotonic() - began
        self._active = active and self._leader.active  # all of it, from before the look to after it
        return seen if self._active else None

    def _look(self) -> Look | None:
        client = self._store.client
        self._durable = not durability(client) and client.info("persistence").get("aof_last_write_status") == "ok"
        return pool.look(self._store, self._rq) if self._leader.active else None

    def _own(self) -> Look:
        values: Values = {
            metrics.ACTIVE: {(): int(self._active)},
            metrics.STORE_UP: {(): int(self._up and not self.away)},
            metrics.STORE_DURABLE: {(): int(self._durable)},
            metrics.LOOK: {(): self._took_s},
            metrics.LOOK_ERRORS: {(): self._errors},
            metrics.DUTY_RUNS: {(duty.name,): duty.runs for duty in self._duties},
            metrics.DUTY_DID: {(duty.name,): duty.did for duty in self._duties},
            metrics.DUTY_LAST: {(duty.name,): duty.last_ms / 1000 for duty in self._duties},
        }
        build = build_labels("scheduler", self._config.image)
        values[metrics.BUILD] = {tuple(build.values()): 1}
        return Look(
            values, {**{name: [value] for name, value in build.items()}, "duty": [d.name for d in self._duties]}
        )
