"""The scheduler's loop: claim the leadership, run what is due, say how it is."""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from types import FrameType

from koala import logs, settings
from koala.clock import boottime
from koala.exits import Exit
from koala.health import HealthFile
from koala.logs import log
from koala.settings import Settings
from koala.starts import Start
from koala.store import OUTAGE
from koala.store.opening import opened
from scheduler.duties import Duties, run_due
from scheduler.leader import Leader
from scheduler.metrics import SchedulerMetrics

AWAY_S = 0.3
AWAY_LONG_S = 30.0
"""A scheduler that has not reached the store for so long is not well; it goes on trying."""
TELL_S = 1.0
"""How often it says how it is."""


class Scheduler:
    """One scheduler, active or standing by."""

    def __init__(self, config: Settings) -> None:
        self._health = HealthFile(config.health, "scheduler")
        store = opened(config)
        self._config = config
        self._leader = Leader(store, config.leader_ttl_s)
        self._duties = Duties(store, config)
        self._all = self._duties.all()
        self._metrics = SchedulerMetrics(config, self._leader, self._all)
        self._was_active = False
        self._reached_at = boottime()
        self._tell_at = 0.0
        self.stop = threading.Event()

    def tick(self) -> None:
        """One round. Raises what OUTAGE names while the store is away."""
        mine = self._leader.keep()
        if mine is not None and mine != self._was_active:
            log().info("scheduler_active" if mine else "scheduler_standby", name=self._leader.name)
            self._was_active = mine
        run_due(self._all, self._leader)

    def serve(self, start: Start) -> Exit:
        """Until a signal asks for the end; then a standby takes over at once."""
        self._metrics.serve()
        away = False
        while not self.stop.wait(AWAY_S if away else self._config.tick_s):
            try:
                with self._metrics.round():
                    self.tick()
                away, self._reached_at = False, boottime()
                start.ready()
            except OUTAGE as error:
                if not away:
                    log().warning("store_away", error=str(error)[:200])
                away = True
                self._duties.store_was_away()
            self._metrics.away = away
            self._tell()
        with suppress(*OUTAGE):
            self._leader.give_up()
        self._health.remove()
        return Exit.OK

    def _tell(self) -> None:
        """Write the health file: a short outage of the store does not make a scheduler unwell."""
        now = boottime()
        if now < self._tell_at:
            return
        self._tell_at = now + TELL_S
        away_s = now - self._reached_at
        why = f"it has not reached the store for {away_s:.0f} s" if away_s > AWAY_LONG_S else ""
        self._health.tell(why, scheduler=self._leader.name, active=self._leader.active)


def serve(start: Start) -> Exit:
    """Run the scheduler until SIGTERM or SIGINT. Raises KoalaError for what stops its start."""
    config = settings.load()
    logs.configure(config.log_format, config.log_level, program="scheduler")
    scheduler = Scheduler(config)

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        start.stopped = True
        scheduler.stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    return scheduler.serve(start)
