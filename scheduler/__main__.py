"""`python -m scheduler`: hands due tasks over, rescues lost attempts, keeps RQ and the task records in agreement."""

from __future__ import annotations

import signal
import sys
import threading
from contextlib import suppress
from types import FrameType

from koala import logs, settings
from koala.clock import boottime
from koala.errors import KoalaError
from koala.exits import Exit
from koala.logs import log
from koala.settings import Settings
from koala.store import OUTAGE, open_store
from scheduler.duties import Duties
from scheduler.leader import Leader

AWAY_S = 0.3


class Scheduler:
    """The loop: claim the leadership, run what is due."""

    def __init__(self, config: Settings) -> None:
        store = open_store(config.redis_url, config.password)
        self._config = config
        self._leader = Leader(store, config.leader_ttl_s)
        self._duties = Duties(store, config)
        self._all = self._duties.all()
        self._claim_at = 0.0
        self._was_active = False
        self.stop = threading.Event()

    def tick(self) -> None:
        """One round. Raises what OUTAGE names while the store is away."""
        now = boottime()
        if now >= self._claim_at:
            mine = self._leader.claim()
            self._claim_at = now + self._config.leader_ttl_s / 4
            if mine != self._was_active:
                log().info("scheduler_active" if mine else "scheduler_standby", name=self._leader.name)
                self._was_active = mine
        for duty in self._all:
            if self._leader.active:
                duty.tick(boottime())

    def serve(self) -> Exit:
        """Until a signal asks for the end; then a standby takes over at once."""
        away = False
        while not self.stop.wait(AWAY_S if away else self._config.tick_s):
            try:
                self.tick()
                away = False
            except OUTAGE as error:
                if not away:
                    log().warning("store_away", error=str(error)[:200])
                away = True
                self._duties.store_was_away()
        with suppress(*OUTAGE):
            self._leader.give_up()
        return Exit.OK


def main() -> Exit:
    """Run the scheduler until SIGTERM or SIGINT."""
    try:
        config = settings.load()
        logs.configure(config.log_format, config.log_level, program="scheduler")
        scheduler = Scheduler(config)
    except KoalaError as error:
        print(f"error[{error.code}]: {error}", file=sys.stderr)
        return error.exit

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        scheduler.stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    return scheduler.serve()


if __name__ == "__main__":
    sys.exit(main())
