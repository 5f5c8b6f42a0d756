"""The worker: starts its slots, restarts one that died or hangs, passes a drain on, and ends when they have."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from koala.exits import PERMANENT, Exit
from koala.health import HealthFile
from koala.logs import log
from koala.metrics import SLOT_DEATHS
from koala.settings import Settings
from worker import health, processes
from worker.health import Health
from worker.report import Metric, OnMetric
from worker.slot_process import SlotProcess
from worker.volume import Volume

RESTART_S = (0.0, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""The wait before a slot's next life, by how many in a row were short."""
AWAY_S = 2.0
"""The wait of a slot that could not begin because the store was away."""
WATCH_S = 1.0
ASLEEP_S = 5.0
"""A watch that comes so late was frozen or suspended itself."""


def worker_name() -> str:
    """A name that no other start of a worker has."""
    return f"{socket.gethostname()[:40]}-{secrets.token_hex(3)}"


def _nobody(metric: Metric) -> None:
    """Metrics of a worker that shows none."""


@dataclass
class Supervisor:
    """One worker's slots, each a process."""

    settings: Settings
    volume: Volume
    name: str = field(default_factory=worker_name)
    on_metric: OnMetric = _nobody
    """Given what the slots count, in this, the main thread; must not block."""
    on_well: Callable[[], None] = lambda: None
    """Called each time that all slots are found well, about every second."""
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    slots: dict[int, SlotProcess] = field(default_factory=dict)
    stopped: bool = False
    """Whether a signal asked it to end."""
    exit: Exit = Exit.OK
    reason: str = ""
    """Why it ended with `exit`, where that is not 0."""

    def __post_init__(self) -> None:
        self._health = Health(self.settings.hung_after_s, health.START_S + self.settings.store_wait_s)
        self._file = HealthFile(self.settings.health, "worker")

    async def run(self) -> Exit:
        """Until every slot has ended: on a drain with 0, or, when something stopped the worker, with its code."""
        loop = asyncio.get_running_loop()
        for asked in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(asked, self._asked)
        log().info("worker_started", worker=self.name, slots=self.settings.slots)
        for number in range(self.settings.slots):
            self._health.born(number, loop.time())  # before anybody asks: a slot that is still to come is not well
        watch = asyncio.ensure_future(self._watch())
        await asyncio.gather(*(self._keep(number) for number in range(self.settings.slots)))
        watch.cancel()
        self._file.remove()
        log().info("worker_ended", worker=self.name, exit=int(self.exit), reason=self.reason)
        return self.exit

    def _asked(self) -> None:
        self.stopped = True
        self.drain()

    def drain(self) -> None:
        """Tell every slot to take nothing new. Once more says that it goes on; nothing is ever cut by it."""
        log().info("worker_still_drains" if self.draining.is_set() else "worker_drains", worker=self.name)
        self.draining.set()
        for slot in self.slots.values():
            slot.drain()

    def silent_s(self) -> dict[int, float]:
        """How long each slot has been silent; one that was not heard in this life is not there. From any thread."""
        return self._health.silent(time.monotonic())

    async def _keep(self, number: int) -> None:
        """One slot over all its lives."""
        while not self.draining.is_set():
            code, last_words = await self._life(number)
            if code == 0:
                break
            if code in PERMANENT:  # what one slot cannot do, none of them can
                self._stop(Exit(code), last_words or f"slot {number}: {Exit(code).meaning}")
            elif self.draining.is_set():
                self._ended_in_a_drain(number, code)
            else:
                await self._rest(self._after_death(number, code, last_words))
        self._health.left(number)

    def _ended_in_a_drain(self, number: int, code: int) -> None:
        if code not in (-signal.SIGTERM, Exit.STORE_AWAY):  # one that had not begun yet has cut nothing
            self._stop(Exit.FAILED, f"slot {number} ended with {code} while it drained")

    def _after_death(self, number: int, code: int, last_words: str) -> float:
        """Seconds to wait before the next life; a slot that keeps dying stops the worker."""
        away = code == Exit.STORE_AWAY
        deaths = self._health.died(number, asyncio.get_running_loop().time(), blameless=away)
        log().warning("slot_died", slot=number, exit=code, lives=deaths)
        self.on_metric(Metric("count", SLOT_DEATHS.name, {}, 1))
        if self._health.is_hopeless(number):
            self._stop(Exit.FAILED, f"slot {number} died {deaths} times in a row, last with {code}: {last_words}")
        return AWAY_S if away else RESTART_S[min(deaths, len(RESTART_S) - 1)]

    def _stop(self, code: Exit, reason: str) -> None:
        """Drain, and end with this code; the first permanent one is kept, then the first of all."""
        if self.exit is Exit.OK or (code in PERMANENT and self.exit not in PERMANENT):
            self.exit, self.reason = code, reason
            log().error("worker_stops", worker=self.name, exit=int(code), reason=reason)
        if not self.draining.is_set():
            self.drain()

    async def _rest(self, seconds: float) -> None:
        """Wait so long, or until a drain begins."""
        try:
            async with asyncio.timeout(seconds):
                await self.draining.wait()
        except TimeoutError:
            pass

    async def _life(self, number: int) -> tuple[int, str]:
        """One life of a slot: the code with which it ended, and why it said that it did."""
        now = asyncio.get_running_loop().time
        self._health.born(number, now())
        try:
            slot = SlotProcess(self.name, number, lambda: self._health.beat(number, now()), self.on_metric)
        except OSError as error:  # no more processes, memory or descriptors: the other slots go on
            return Exit.FAILED, f"it cannot be started: {error}"
        self.slots[number] = slot
        code = await slot.wait()
        del self.slots[number]
        self._end_leftovers()
        await asyncio.to_thread(shutil.rmtree, self.volume.tmp / f"{self.name}-{number}", True)
        return code, slot.last_words

    async def _watch(self) -> None:
        """Look after the slots, again and again."""
        loop = asyncio.get_running_loop()
        before = loop.time()
        while True:
            now = loop.time()
            if now - before > ASLEEP_S:
                self._health.forgive(now)
            before = now
            try:
                await self._end_hung(now)
                self._tell(now)
            except Exception:  # noqa: BLE001 - the slots go on; the health file says by its age that nobody looks
                log().exception("watch_failed", worker=self.name)
            await asyncio.sleep(WATCH_S)

    async def _end_hung(self, now: float) -> None:
        for number in self._health.hung(now):
            slot = self.slots.get(number)
            if slot:
                log().error("slot_hung", slot=number, pid=slot.pid)
                await slot.kill()

    def _tell(self, now: float) -> None:
        """Write the health file, and say so when all is well."""
        why = self._health.why(now)
        pids = {str(number): slot.pid for number, slot in self.slots.items()}
        self._file.tell(why, worker=self.name, draining=self.draining.is_set(), slots=pids)
        if not why:
            self.on_well()

    def _end_leftovers(self) -> None:
        """A slot that was killed may leave frozen descendants behind; they were reparented to us."""
        known = {slot.pid for slot in self.slots.values()}
        orphans = [child for child in processes.children(os.getpid()) if child.pid not in known]
        processes.end_tree(orphans)
        processes.reap_orphans(known)
