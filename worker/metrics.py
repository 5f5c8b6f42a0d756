"""What a worker answers at `/metrics`: what its slots report, and what can be seen of it when it is asked."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection

from koala import meters, metrics
from koala.logs import log
from koala.meters import Look, Meters, NoSuchMetric, Read, Values
from koala.metrics import Of
from koala.settings import Settings
from worker import cgroup, processes, report
from worker.volume import Volume

SilentS = Callable[[], dict[int, float]]
"""How long each slot has been silent; one that has not been heard yet is not there. Called from any thread."""

SEEN = (
    metrics.LAST_BEAT,
    metrics.WORKER_SLOTS,
    metrics.SANDBOX,
    metrics.MEMORY_USED,
    metrics.MEMORY_LIMIT,
    metrics.MEMORY_FULL,
    metrics.OOM_KILLS,
    metrics.ZOMBIES,
    metrics.VOLUME_FREE,
    metrics.VOLUME_SIZE,
    metrics.BUILD,
)
"""Looked at when it is asked for; all others are counted."""


class WorkerMetrics:
    """One worker's metrics, in the supervisor's process."""

    def __init__(self, config: Settings, volume: Volume, workflows: Collection[str], silent_s: SilentS) -> None:
        self._config = config
        self._volume = volume
        self._silent_s = silent_s
        self.shown = meters.registry()
        counted = [metric for metric in metrics.of(Of.WORKER) if metric not in SEEN]
        self._meters = Meters(self.shown, counted, {"workflow": workflows})
        self.shown.register(Read(SEEN, self._look))

    def serve(self) -> None:
        """Answer from a thread, where the settings say so."""
        if self._config.metrics_port:
            meters.serve(self.shown, self._config.metrics_host, self._config.metrics_port)

    def take(self, told: report.Metric) -> None:
        """Count what a slot reports. What is no metric of ours is counted as that, and logged. Never raises."""
        try:
            if told.kind == "count":
                self._meters.count(told.name, told.value, **told.labels)
            else:
                self._meters.observe(told.name, told.value, **told.labels)
        except (NoSuchMetric, TypeError) as error:
            log().warning("report_refused", name=told.name, error=str(error)[:200])
            self._meters.count(metrics.REFUSED_REPORTS)

    def _look(self) -> Look:
        config, now = self._config, time.time()
        disk = shutil.disk_usage(self._volume.path)
        full, kills = cgroup.memory_full()
        build = meters.build_labels("worker", config.image)
        values: Values = {
            metrics.LAST_BEAT: {(str(slot),): now - silent_s for slot, silent_s in self._silent_s().items()},
            metrics.WORKER_SLOTS: {(): config.slots},
            metrics.SANDBOX: {(): int(config.browser_sandbox)},
            metrics.MEMORY_USED: {(): cgroup.memory_used()},
            metrics.MEMORY_LIMIT: {(): cgroup.memory_limit() or 0},
            metrics.MEMORY_FULL: {(): full},
            metrics.OOM_KILLS: {(): kills},
            metrics.ZOMBIES: {(): processes.zombies(os.getpid())},
            metrics.VOLUME_FREE: {(): disk.free},
            metrics.VOLUME_SIZE: {(): disk.total},
            metrics.BUILD: {tuple(build.values()): 1},
        }
        slots = [str(number) for number in range(config.slots)]
        return Look(values, {**{name: [value] for name, value in build.items()}, "slot": slots})
