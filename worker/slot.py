"""A slot: one place that can run one attempt. A process of its own; it speaks RQ, and never runs the user's code.

python -m worker slot --worker NAME --number N --parent PID
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_delay, wait_fixed

from koala import faults, handover, keys, leases, queue, slots, switches, tasks
from koala.errors import KoalaError, NotFound
from koala.exits import Exit
from koala.logs import log
from koala.queue import Delivery, Seat
from koala.store import OUTAGE
from koala.tasks import Task
from worker import processes
from worker.attempt import AttemptRun, Ended
from worker.child import Child, ChildLost
from worker.place import Place

TAKE_S = 1.0
RESTS_AFTER = 3
REST_S = 10.0
AWAY_S = 0.3


class Slot:
    """Takes deliveries one by one until it drains."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._class = place.registry.work_class
        self._rq = queue.connect(place.settings.redis_url, place.settings.password)
        self._seat = Seat(self._rq, keys.queue(self._class), f"{place.slot}-{secrets.token_hex(3)}")
        self._child: Child | None = None
        self._busy = ""
        self._no_browser = 0
        """How many attempts in a row ended here because no browser started."""
        self.draining = asyncio.Event()
        self.exit = Exit.OK

    async def serve(self) -> Exit:
        """Work until drained; the exit code."""
        beats = asyncio.ensure_future(self._beat())
        try:
            await self._warm()
            while not self.draining.is_set():
                await self._once()
        finally:
            beats.cancel()
            await self._leave()
        return self.exit

    async def _once(self) -> None:
        """One delivery, or a second without one."""
        try:
            if switches.POOL in await asyncio.to_thread(switches.all_on, self._place.store):
                await asyncio.sleep(AWAY_S)
                return
            await self._rest()
            await self._warm()  # before the pop: whoever has a child may take it meanwhile
            delivery = await asyncio.to_thread(self._seat.take, TAKE_S)
            if delivery:
                await self._deliver(delivery)
        except OUTAGE as error:
            log().warning("store_away", error=str(error)[:200])
            await asyncio.sleep(AWAY_S)

    async def _deliver(self, delivery: Delivery) -> None:
        """Run the task of a delivery, if its lease is to be had; then hand over what can start."""
        try:
            await self._try(delivery)
        finally:
            self._busy = ""
            await self._outage_proof(self._seat.finished, delivery)
        await self._outage_proof(self._hand_over)

    async def _try(self, delivery: Delivery) -> None:
        try:
            task = await asyncio.to_thread(tasks.get, self._place.store, delivery.task_id)
        except NotFound:
            log().warning("delivery_of_nothing", task=delivery.task_id)
            return
        workflow = self._place.registry.for_task(task.workflow, task.version)
        if workflow is None or self.draining.is_set():
            await asyncio.to_thread(tasks.unhand, self._place.store, task, "this slot cannot take it")
            return
        await self._warm()
        lease = await self._acquire(task)
        if not isinstance(lease, leases.Lease):
            log().info("delivery_dropped", task=task.id, reason=lease)
            if lease == "paused":
                await asyncio.to_thread(tasks.unhand, self._place.store, task, "paused")
            return
        self._busy = task.id
        await self._outage_proof(self._seat.started, delivery)
        run = AttemptRun(self._place, task, workflow, lease, self.draining)
        self._after(await run.run(await self._ready_child()))

    async def _acquire(self, task: Task) -> leases.Lease | str:
        """Ask with one token until the store answers: a lease that it gave unheard would count as a lost worker."""
        place = self._place
        facts = {"machine": place.volume.machine, "boot": processes.boot_id(), "pid": os.getpid()}
        who = {"slot": place.slot, "worker": place.worker}
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(OUTAGE),
            wait=wait_fixed(0.1),
            stop=stop_after_delay(place.settings.lease_ttl_s / 2),
            reraise=True,
        )
        ask = partial(leases.acquire, place.store, task, secrets.token_hex(16), place.terms, facts=facts, **who)
        faults.about(task.id)
        faults.reach("acquire.before")
        got: leases.Lease | str = await retrying(asyncio.to_thread, ask)
        faults.reach("acquire.after")
        return got

    async def _rest(self) -> None:
        """A slot that cannot start a browser would win every retry by failing fast: it takes nothing for a while."""
        if self._no_browser < RESTS_AFTER:
            return
        log().error("no_browser", attempts=self._no_browser, rests_s=REST_S)
        await self._outage_proof(self._beat_once)
        with suppress(TimeoutError):
            async with asyncio.timeout(REST_S):
                await self.draining.wait()
        self._no_browser = RESTS_AFTER - 1  # one more try
        await self._outage_proof(self._beat_once)

    def _after(self, ended: Ended) -> None:
        self._no_browser = self._no_browser + 1 if ended.no_browser else 0
        if ended.went_back:
            log().error("store_went_back", reason=ended.reason)
            self.exit = Exit.WENT_BACK
            self.draining.set()

    async def _ready_child(self) -> Child:
        child = await self._warm()
        child.attempts += 1
        return child

    async def _warm(self) -> Child:
        """A living child that is not due for recycling; a new one is started in this, the main thread."""
        child, settings = self._child, self._place.settings
        if child and child.alive and (child.attempts >= settings.child_attempts or child.age() > settings.child_age_s):
            log().info("child_recycled", attempts=child.attempts)
            await child.quit(settings.close_budget_s)
        if child and child.alive:
            return child
        try:
            self._child = await Child.start(self._place.tmp)
            return self._child
        except ChildLost as error:
            log().error("child_failed", error=str(error))
            self.exit = error.exit
            raise

    def _hand_over(self) -> None:
        for handed in handover.hand_over(self._place.store):
            queue.push(self._rq, handed.queue, handed.task_id, handed.job_id)

    async def _outage_proof(self, call: Callable[..., Any], *args: Any) -> None:
        """Call; when the store is away, leave it: the sweep puts it right."""
        try:
            await asyncio.to_thread(call, *args)
        except OUTAGE as error:
            log().warning("store_away", error=str(error)[:200])

    async def _beat(self) -> None:
        """Heartbeats for the pool and for RQ, and a look at our own drain switch."""
        while True:
            await self._outage_proof(self._beat_once)
            await asyncio.sleep(self._place.settings.heartbeat_s)

    def _beat_once(self) -> None:
        place = self._place
        fields = {
            "worker": place.worker,
            "accepting": 0 if self.draining.is_set() or self._no_browser >= RESTS_AFTER else 1,
            "no_browser": self._no_browser,
            "task": self._busy,
            "pid": os.getpid(),
            "machine": place.volume.machine,
            "draining": int(self.draining.is_set()),
            "sandbox": int(place.settings.browser_sandbox),
        }
        ttl = max(3 * place.settings.heartbeat_s, 3.0)
        slots.heartbeat(place.store, place.slot, ttl, fields, place.registry.runs, self._class)
        self._seat.heartbeat()
        if switches.name("worker", place.worker) in switches.all_on(place.store):
            self._running.call_soon_threadsafe(self.draining.set)

    async def _leave(self) -> None:
        if self._child and self._child.alive:
            await self._child.quit(self._place.settings.close_budget_s)
        await self._outage_proof(slots.leave, self._place.store, self._place.slot, self._class)
        await self._outage_proof(self._seat.leave)

    def run(self) -> Exit:
        """Serve in an event loop of our own; SIGTERM drains."""

        async def main() -> Exit:
            self._running = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGINT):
                self._running.add_signal_handler(number, self.draining.set)
            processes.set_child_subreaper()
            return await self.serve()

        return asyncio.run(main())


def start(place: Place) -> Exit:
    """Run one slot; errors of the pool become exit codes."""
    try:
        return Slot(place).run()
    except ChildLost as error:
        return error.exit
    except KoalaError as error:
        log().error("slot_ended", code=error.code, error=str(error))
        return error.exit
