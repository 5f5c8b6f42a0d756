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

from koala import canary, faults, handover, leases, queue, switches, tasks
from koala.errors import KoalaError, NotFound
from koala.exits import Exit
from koala.fence import Fence
from koala.logs import log
from koala.metrics import RECYCLED
from koala.queue import Delivery
from koala.store import OUTAGE
from koala.tasks import Task
from worker import launchcheck, post, processes, trial, watermark
from worker.attempt import AttemptRun, Ended
from worker.child import Child, ChildLost
from worker.fitness import Fitness
from worker.place import Place
from worker.presence import Presence

TAKE_S = 1.0
AWAY_S = 0.3


class Slot:
    """Takes deliveries one by one until it drains."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._rq = queue.connect(place.settings.redis_url, place.settings.password, place.settings.redis_user)
        self._presence = Presence(place, post.on_trial(place, self._rq))  # until it is known whether it has to be
        self._child: Child | None = None
        self._busy = ""
        self._fitness = Fitness()
        self._ready = False
        """Whether all that it needs has been started once: before that it does not beat."""
        self.draining = asyncio.Event()
        self.exit = Exit.OK

    async def serve(self) -> Exit:
        """Work until drained; the exit code."""
        await self._choose_post()
        beats = asyncio.ensure_future(self._beat())
        try:
            await self._warm()
            self._ready = True
            self._place.report.beat()
            await self._outage_proof(self._beat_once)
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
            if self._fitness.owes_rest:
                await self._rest()
                return
            await self._warm()  # before the pop: whoever has a child may take it meanwhile
            delivery = await asyncio.to_thread(self._presence.post.seat.take, TAKE_S)
            if delivery:
                await self._deliver(delivery)
        except OUTAGE as error:
            log().warning("store_away", error=str(error)[:200])
            await asyncio.sleep(AWAY_S)

    async def _deliver(self, delivery: Delivery) -> None:
        """Run the task of a delivery, if its lease is to be had; then hand over what can start."""
        seat = self._presence.post.seat
        try:
            tried = await self._try(delivery)
        finally:
            self._busy = ""
            await self._outage_proof(seat.finished, delivery)
        if tried:
            await self._after(*tried)
        await self._outage_proof(handover.deliver, self._place.store, self._rq)

    async def _try(self, delivery: Delivery) -> tuple[Task, Ended] | None:
        """One attempt, and how it ended; None when there is nothing to try, or no lease."""
        try:
            task = await asyncio.to_thread(tasks.get, self._place.store, delivery.task_id)
        except NotFound:
            log().warning("delivery_of_nothing", task=delivery.task_id)
            return None
        workflow = self._presence.post.registry.for_task(task.workflow, task.version)
        if workflow is None or self.draining.is_set():
            await asyncio.to_thread(tasks.unhand, self._place.store, task, "this slot cannot take it")
            return None
        await self._warm()
        lease = await self._granted(task, workflow.limits.runtime.total_seconds())
        if not isinstance(lease, leases.Lease):
            log().info("delivery_dropped", task=task.id, reason=lease)
            if lease == "paused":
                await asyncio.to_thread(tasks.unhand, self._place.store, task, "paused")
            return None
        self._busy = task.id
        await self._outage_proof(self._presence.post.seat.started, delivery)
        run = AttemptRun(self._place, task, workflow, lease, self.draining, doubtful=self._fitness.doubtful)
        return task, await run.run(await self._ready_child())

    async def _granted(self, task: Task, runtime_s: float) -> leases.Lease | str:
        """The lease, unless the store has not given the fences yet that this data volume has seen: it went back."""
        place = self._place
        seen = (await asyncio.to_thread(watermark.read, place.volume)).fence
        lease = await self._acquire(task, runtime_s, seen)
        if lease == "went_back":
            self._went_back(f"it gave fence {seen} before, and knows nothing of it")
        if isinstance(lease, leases.Lease):
            try:
                await asyncio.to_thread(watermark.lift, place.volume, Fence.parse(lease.fence), place.terms.ttl_ms)
            except OSError as error:  # a full disk: the mark stays low, and the attempt finds out for itself
                log().warning("fence_not_noted", error=str(error))
        return lease

    async def _acquire(self, task: Task, runtime_s: float, seen: Fence) -> leases.Lease | str:
        """Ask with one token until the store answers: a lease that it gave unheard would count as a lost worker."""
        place = self._place
        here = {"machine": place.volume.machine, "boot": processes.boot_id(), "pid": os.getpid()}
        facts = {**here, "image": place.settings.image, "runtime_s": runtime_s}
        who = {"slot": place.slot, "worker": place.worker}
        token = secrets.token_hex(16)
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(OUTAGE),
            wait=wait_fixed(0.1),
            stop=stop_after_delay(place.settings.lease_ttl_s / 2),
            reraise=True,
        )
        ask = partial(leases.acquire, place.store, task, token, place.terms, facts=facts, seen=seen, **who)
        faults.about(task.id)
        faults.reach("acquire.before")
        got: leases.Lease | str = await retrying(asyncio.to_thread, ask)
        faults.reach("acquire.after")
        return got

    async def _rest(self) -> None:
        """Take nothing for a while, so that others get the tasks; then look, if need be, whether browsers come up."""
        fitness = self._fitness
        facts = {"no_browser": fitness.no_browser, "crashing": fitness.crashing, "fault": fitness.fault}
        log().error("slot_rests", **facts, rests_s=fitness.rest_s)
        await self._outage_proof(self._beat_once)
        with suppress(TimeoutError):
            async with asyncio.timeout(fitness.rest_s):
                await self.draining.wait()
        if not self.draining.is_set():
            fitness.rested(await self._fault() if fitness.unsure else "")
        await self._outage_proof(self._beat_once)

    async def _fault(self) -> str:
        """Why browsers do not come up here; empty when they do, or when nobody wants it checked."""
        config = self._place.settings
        return (await launchcheck.look(config)).fault if config.launch_check else ""

    async def _after(self, task: Task, ended: Ended) -> None:
        """Draw conclusions from an attempt, before anything else is handed over."""
        self._fitness.note(ended)
        if ended.went_back:
            self._went_back(ended.reason)
        if self._presence.post.on_trial and ended.outcome == ended.status == "done":
            await self._join_pool()
        if self._fitness.owes_rest:
            await self._outage_proof(self._beat_once)
        if task.workflow == canary.NAME:
            await self._outage_proof(trial.throw_away, self._place, task, ended)

    async def _join_pool(self) -> None:
        """The canary came through: leave the class of our own and take work like the others."""
        log().info("trial_passed", image=self._place.settings.image)
        left, self._presence.post = self._presence.post, post.in_pool(self._place, self._rq)
        await self._outage_proof(self._beat_once)
        await self._outage_proof(trial.remember, self._place)
        await self._outage_proof(left.give_up, self._place.store, self._rq)

    async def _choose_post(self) -> None:
        """Begin on trial where that was asked for and not passed before; nothing is begun while the store is away."""
        while not self.draining.is_set():
            try:
                on_trial = await asyncio.to_thread(trial.is_due, self._place)
            except OUTAGE as error:
                log().warning("store_away", error=str(error)[:200])
                await asyncio.sleep(AWAY_S)
                continue
            self._presence.post = (post.on_trial if on_trial else post.in_pool)(self._place, self._rq)
            return

    def _went_back(self, reason: str) -> None:
        log().error("store_went_back", reason=reason)
        self._place.report.ends(f"the store went back: {reason}")
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
            self._place.report.count(RECYCLED.name, {})
            await child.quit(settings.close_budget_s)
        if child and child.alive:
            return child
        try:
            self._child = await Child.start(self._place.tmp, proxy=settings.proxy)
            return self._child
        except ChildLost as error:
            log().error("child_failed", error=str(error))
            self.exit = error.exit
            raise

    async def _outage_proof(self, call: Callable[..., Any], *args: Any) -> None:
        """Call; when the store is away, leave it: the sweep puts it right."""
        try:
            await asyncio.to_thread(call, *args)
        except OUTAGE as error:
            log().warning("store_away", error=str(error)[:200])

    async def _beat(self) -> None:
        """Heartbeats for the pool and for RQ, and a look at our own drain switch."""
        while True:
            if self._ready:  # also while the store is away: that this loop runs is all that it says
                self._place.report.beat()
            await self._outage_proof(self._beat_once)
            await asyncio.sleep(self._place.settings.heartbeat_s)

    def _beat_once(self) -> None:
        self._presence.say(self._fitness, self._busy, self.draining.is_set(), self._ready)
        if switches.name("worker", self._place.worker) in switches.all_on(self._place.store):
            self._running.call_soon_threadsafe(self.draining.set)

    async def _leave(self) -> None:
        if self._child and self._child.alive:
            await self._child.quit(self._place.settings.close_budget_s)
        await self._outage_proof(self._presence.leave)
        await self._outage_proof(self._presence.post.give_up, self._place.store, self._rq)

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
        place.report.ends(str(error))
        return error.exit
    except KoalaError as error:
        log().error("slot_ended", code=error.code, error=str(error))
        place.report.ends(f"[{error.code}] {error}")
        return error.exit
