"""One task, run here to its end: a slot without RQ. Leases, ledger and child are those of the pool."""

from __future__ import annotations

import asyncio
import os
import secrets

from koala import leases, tasks
from koala.cli.output import say
from koala.errors import UnknownWorkflow
from koala.leases import Lease
from koala.span import span
from koala.tasks import Task
from worker import processes
from worker.attempt import AttemptRun, Ended
from worker.child import Child
from worker.commands.run.asking import ask
from worker.commands.run.telling import Telling
from worker.place import Place
from worker.processes import Process

PACE_S = 0.2


class Laptop:
    """Runs one task after the other's turn: attempt for attempt, until it ends, waits for a person, or cannot go on."""

    def __init__(self, place: Place, spare: tuple[Process, ...]) -> None:
        self._place = place
        self._spare = spare
        self._child: Child | None = None
        self._parked = ""
        self.stop = asyncio.Event()
        """Set when the person wants it to end: the attempt parks at its next step."""

    async def run(self, telling: Telling) -> tuple[Task, str]:
        """The task as it is at the end, and why it goes no further although it has not ended (empty otherwise)."""
        try:
            while True:
                task = tasks.get(self._place.store, telling.task_id)
                if task.ended or self._parked or self.stop.is_set():
                    return task, self._parked
                if task.status == "review" and not await ask(self._place.store, task.question, self.stop):
                    return task, ""
                async with telling.live():
                    await self._go_on(task)
        finally:
            if self._child and self._child.alive:
                await self._child.quit(self._place.settings.close_budget_s)

    async def _go_on(self, task: Task) -> None:
        """The next thing to do for it: wait until it is due, rescue it from a run that died, or an attempt."""
        if task.status == "ready":
            await self._attempt(task)
        elif task.status == "later":
            await self._until_due(task)
        elif task.status == "running" and not leases.rescue(self._place.store):
            await self._pause(PACE_S)

    async def _until_due(self, task: Task) -> None:
        left_ms = task.due_ms - tasks.now_ms(self._place.store)
        if left_ms > 1000:
            say(f"{task.reason}: it goes on in {span(left_ms)}")
        await self._pause(left_ms / 1000)
        tasks.promote(self._place.store)

    async def _pause(self, seconds: float) -> None:
        try:
            async with asyncio.timeout(max(seconds, 0.01)):
                await self.stop.wait()
        except TimeoutError:
            return

    async def _attempt(self, task: Task) -> None:
        workflow = self._place.registry.for_task(task.workflow, task.version)
        if workflow is None:
            raise UnknownWorkflow(f"{task.kind} is not known here any more")
        child = await self._ready_child()
        lease = await asyncio.to_thread(self._acquire, task)
        if not isinstance(lease, Lease):
            await self._pause(PACE_S)
            return
        self._note(await AttemptRun(self._place, task, workflow, lease, self.stop).run(child))

    async def _ready_child(self) -> Child:
        """A living child, started in this, the main thread."""
        if self._child is None or not self._child.alive:
            proxy = self._place.settings.proxy
            self._child = await Child.start(self._place.tmp, self._spare, proxy=proxy)
        return self._child

    def _acquire(self, task: Task) -> Lease | str:
        place = self._place
        here = {"machine": place.volume.machine, "boot": processes.boot_id(), "pid": os.getpid()}
        facts = {**here, "image": place.settings.image}
        token = secrets.token_hex(16)
        return leases.acquire(place.store, task, token, place.terms, slot=place.slot, worker=place.worker, facts=facts)

    def _note(self, ended: Ended) -> None:
        """A parked attempt waits in the pool for something to change; here the person is told instead."""
        if ended.outcome in ("parked", "lost"):
            self._parked = ended.reason
