"""The parent's part of one attempt: renews the lease, answers the child, keeps the deadlines, and ends it."""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from koala import attempt as writing
from koala import endings
from koala.clock import boottime
from koala.errors import told
from koala.fence import Fence
from koala.leases import Lease
from koala.logs import log
from koala.store import OUTAGE
from koala.tasks import Task
from koala.workflow import Workflow
from worker import launchcheck, locks
from worker.child import Child, ChildLost
from worker.deadlines import Deadlines
from worker.link import Message
from worker.outcome import NOT_STARTED, UNFIT, broke_the_browser, outcome
from worker.place import Place
from worker.requests import Requests, Stale
from worker.takeover import Takeover
from worker.tally import Tally

START_S = 20.0
WAITS = frozenset({"runtime", "drain", "step"})
"""Deadlines that wait while an effect is between its gate and its settlement."""
AWAY: Message = {
    "outcome": "parked",
    "reason": "the lease was not renewed in time: the store was away, or this machine is too busy",
    "kill": True,
}


@dataclass(frozen=True)
class Ended:
    """How an attempt ended. `status` is what its task is now, None when the lease had ended before."""

    outcome: str
    reason: str
    status: str | None
    went_back: bool = False
    no_browser: bool = False
    """No browser could be started here."""
    unfit: bool = False
    """What ran died, and browsers do not come up here without a task either."""


class AttemptRun:
    """One attempt from its lease to its release."""

    def __init__(
        self,
        place: Place,
        task: Task,
        workflow: Workflow,
        lease: Lease,
        draining: asyncio.Event,
        *,
        doubtful: bool = False,
    ) -> None:
        """`doubtful`: the attempt before this one crashed here too, so that it may be our fault."""
        self._place = place
        self._suspects = doubtful or task.crashes > 0
        self._workflow = workflow
        self._draining = draining
        self.attempt = writing.Attempt(place.store, task, lease, place.worker, place.settings.image)
        self._fence = Fence.parse(lease.fence)
        self._deadlines = Deadlines()
        self._k = locks.child_path(place.volume, self._fence).name
        self._tmp = place.tmp / f"attempt-{lease.fence}"
        takeover = Takeover(place.volume, self.attempt)
        self._tally = Tally(place.report, workflow.name)
        self._requests = Requests(
            self.attempt,
            place.volume,
            takeover,
            self._deadlines,
            self._k,
            self._tally,
            draining.is_set,
            place.rehearsal,
        )

    async def run(self, child: Child) -> Ended:
        """Run it in this child. Afterwards the child rests, or is gone with all that it started."""
        self._deadlines.give("start", "the start of the child's attempt", START_S)
        self._deadlines.give("runtime", "its runtime limit", self._workflow.limits.runtime.total_seconds())
        child.send({"assign": self._assignment()})
        ending = await self._tend(child)
        cut = bool(ending.get("kill") or self._requests.unknown or broke_the_browser(ending) or not child.alive)
        if cut:
            await self._cut(child, ending["reason"])
            ending = await self._blamed(child, ending)
        else:
            child.send({"trust": 0})
        ended = await self._release(ending)
        if not self._requests.unknown:
            await asyncio.to_thread(self._tidy, child.locks if cut else ())
        await asyncio.to_thread(shutil.rmtree, self._tmp, True)
        return ended

    def _assignment(self) -> Message:
        task, volume = self.attempt.task, self._place.volume
        return {
            "task": task.id,
            "workflow": task.workflow,
            "version": task.version,
            "profile": task.profile,
            "args": json.loads(task.args),
            "fence": self.attempt.fence,
            "trusted_until": self.attempt.lease.trusted_until,
            "roll_back": self.attempt.lease.rolls_back,
            "tmp": str(self._tmp),
            "artifacts": str(volume.artifacts / task.id / self.attempt.fence),
        }

    async def _tend(self, child: Child) -> Message:
        """Until the attempt ends from inside, or has to end: what happened, as an ending."""
        watchers: list[asyncio.Future[Message]] = [
            asyncio.ensure_future(work)
            for work in (self._serve(child), self._renew(child), self._keep_deadlines(), self._tell_drain(child))
        ]
        self._fatal = asyncio.get_running_loop().create_future()
        watchers.append(self._fatal)
        try:
            done, _ = await asyncio.wait(watchers, return_when=asyncio.FIRST_COMPLETED)
            first = next(watcher for watcher in watchers if watcher in done)
            return first.result()
        except ChildLost as error:
            if boottime() >= self.attempt.lease.trusted_until:  # its own watchdog was faster than we are
                return AWAY
            return {"outcome": "crashed", "reason": str(error), "kill": True, "crash": "child"}
        finally:
            for watcher in watchers:
                watcher.cancel()
            await asyncio.gather(*watchers, return_exceptions=True)

    async def _serve(self, child: Child) -> Message:
        """Answer the child until it says how the attempt ended. Requests are answered side by side."""
        answers: set[asyncio.Task[None]] = set()
        try:
            while True:
                message = await child.receive()
                if "end" in message:
                    ending: Message = message["end"]
                    return ending
                if "started" in message:
                    self._deadlines.clear("start")
                elif "browser" in message:
                    self._tally.browser(message["browser"])
                elif "call" in message:
                    answers.add(asyncio.ensure_future(self._answer(child, message)))
        finally:
            for answer in answers:
                answer.cancel()

    async def _answer(self, child: Child, message: Message) -> None:
        try:
            answer = await self._requests.answer(message["call"], message["args"])
            child.send({"id": message["id"], "answer": answer})
        except Stale:
            self._fail({"outcome": "lost", "reason": "a newer lease exists", "kill": True})
        except OUTAGE as error:
            self._fail({"outcome": "parked", "reason": f"the store was away: {error}", "kill": True})
        except Exception as error:  # noqa: BLE001 - a fault of ours ends this attempt, not the slot
            log().exception("request_failed", call=message["call"])
            reason = f"a request of its child failed: {told(error)}"
            self._fail({"outcome": "crashed", "reason": reason, "kill": True, "crash": "worker"})

    def _fail(self, ending: Message) -> None:
        if not self._fatal.done():
            self._fatal.set_result(ending)

    async def _renew(self, child: Child) -> Message:
        """Keep the lease; returns when it has ended or cannot be trusted any more."""
        while True:
            await asyncio.sleep(self._renewal_in_s())
            while boottime() < self.attempt.lease.trusted_until:
                try:
                    lease = await asyncio.to_thread(self.attempt.renew, self._place.terms)
                except OUTAGE:
                    await asyncio.sleep(0.1)
                    continue
                if lease is None:
                    self._tell_refused("renew")
                    return {"outcome": "lost", "reason": "its lease has ended", "kill": True}
                child.send({"trust": lease.trusted_until})
                break
            else:
                return AWAY

    def _renewal_in_s(self) -> float:
        """Until the next renewal is due; from when the lease was asked for, since a child may be slow to start."""
        terms = self._place.terms
        asked_at = self.attempt.lease.trusted_until - terms.ttl_s + terms.margin_s
        return max(0.0, asked_at + self._place.settings.renew_s - boottime())

    async def _keep_deadlines(self) -> Message:
        name, what = await self._deadlines.watch(WAITS, self._requests.acting)
        ended = {"drain": "parked", "start": "crashed"}.get(name, "failed")
        passed = f"{what} passed"
        return {"outcome": ended, "reason": passed, "kill": True, "error": passed, "crash": "child"}

    async def _tell_drain(self, child: Child) -> Message:
        await self._draining.wait()
        child.send({"leave": True})
        self._deadlines.give("drain", "the soft limit of the drain", self._place.settings.drain_soft_s)
        return await asyncio.Future()

    async def _cut(self, child: Child, reason: str) -> None:
        """End child, driver and browser, reap them, and say so."""
        if not await child.kill():
            log().error("processes_left", task=self.attempt.task.id, fence=self.attempt.fence)
            return
        await self._persist(self.attempt.gone, f"cut: {reason}"[:300])

    async def _blamed(self, child: Child, ending: Message) -> Message:
        """The ending, unless this slot is to blame: a task's second crash counts only where browsers do come up.

        What is a task's own fault takes down every browser, but not one that starts without it.
        """
        settings = self._place.settings
        crashed = outcome(ending, settings, 0)[0] == "crashed"
        if not (crashed and self._suspects and settings.launch_check):
            return ending
        renewing = asyncio.ensure_future(self._renew(child))
        try:
            fault = (await launchcheck.look(settings)).fault
        finally:
            renewing.cancel()
        return {**ending, "code": UNFIT, "reason": f"browsers do not come up here: {fault}"} if fault else ending

    def _tidy(self, of_the_child: Iterable[str]) -> None:
        """Remove the lock files of an attempt that left no effect to be settled; those that are held stay."""
        for name in (self._k, *of_the_child):
            locks.remove_free(self._place.volume, self._place.volume.locks / name)

    async def _release(self, ending: Message) -> Ended:
        result, details = outcome(ending, self._place.settings, self.attempt.task.attempts)
        if result == "lost":
            self._tally.ended(result, details, ending.get("closed", ""))
            self._tell_ended(result, None)
            return Ended(result, ending["reason"], None)
        if result == "done":
            result, details = await self._not_with_open(result, details)
        status = await self._persist(self._settle, result, details)
        self._tally.ended(result if status else "lost", details, ending.get("closed", ""))
        self._tell_ended(result, status)
        code = ending.get("code")
        went_back = code == "lower_fence" and status is not None
        return Ended(result, details["reason"], status, went_back, code == NOT_STARTED, code == UNFIT)

    def _settle(self, result: str, details: dict[str, Any]) -> str | None:
        status = self.attempt.release(result, details)
        if status is None:
            self._tell_refused("release")
        return status

    def _tell_ended(self, result: str, status: str | None) -> None:
        log().info("attempt_ended", task=self.attempt.task.id, fence=self.attempt.fence, outcome=result, status=status)

    def _tell_refused(self, write: str) -> None:
        """The store refused a write because the lease had ended: what a worker that was frozen is told."""
        log().warning("stale_write_refused", write=write, task=self.attempt.task.id, fence=self.attempt.fence)

    async def _not_with_open(self, result: str, details: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """A task does not end while an effect is open: ask a person when its workflow ended without settling it."""
        asked = endings.unsettled(await self._persist(self.attempt.open_effects) or {})
        return ("review", asked) if asked else (result, details)

    async def _persist(self, call: Callable[..., Any], *args: Any) -> Any:
        """Repeat an idempotent write while the store is away, as long as it could still matter; None after that."""
        retrying = Retrying(
            retry=retry_if_exception_type(OUTAGE),
            wait=wait_fixed(0.2),
            stop=stop_after_delay(self._place.settings.lease_ttl_s),
        )
        try:
            return await asyncio.to_thread(retrying, call, *args)
        except RetryError:
            log().warning("store_away", task=self.attempt.task.id, fence=self.attempt.fence)
            return None
