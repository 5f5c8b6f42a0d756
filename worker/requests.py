"""What a child may ask of its parent: each request, checked and carried out under the attempt's fence.

A store that is away is asked again while the lease can be trusted; every write is idempotent, so asking again is safe.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tenacity import AsyncRetrying, retry_if_exception_type, wait_random_exponential
from tenacity.stop import stop_base

from koala.attempt import Attempt
from koala.clock import boottime
from koala.logs import log
from koala.store import OUTAGE, Reply
from koala.values import LARGEST
from worker import processes
from worker.deadlines import Deadlines
from worker.takeover import Takeover
from worker.tally import Tally
from worker.volume import Volume

Answer = TypeVar("Answer")

LOOK_S = 15.0
"""Beyond an act's own time: one look by `confirm`, and the way of the answer."""
STEP_GRACE_S = 5.0


class Stale(Exception):
    """The lease has ended: whatever this attempt still wants is refused."""


class _UntilTrustEnds(stop_base):
    def __init__(self, requests: Requests) -> None:
        self._requests = requests

    def __call__(self, retry_state: Any) -> bool:
        return boottime() > self._requests.attempt_trusted_until()


@dataclass
class Requests:
    """The requests of one attempt's child."""

    attempt: Attempt
    volume: Volume
    takeover: Takeover
    deadlines: Deadlines
    lock_k: str
    tally: Tally
    draining: Callable[[], bool]
    rehearsal: bool = False
    """Effects are only described: the gate is closed."""
    acting: set[str] = field(default_factory=set)
    """Operations between the gate's ok and their settlement: nothing may cut them."""
    unknown: set[str] = field(default_factory=set)
    """Operations that this attempt passed the gate for and has not settled."""

    def attempt_trusted_until(self) -> float:
        """Until when the lease can be trusted, as last renewed."""
        return self.attempt.lease.trusted_until

    async def answer(self, name: str, args: dict[str, Any]) -> Reply:
        """Carry out one request. Raises Stale, or StoreAway when the store stayed away."""
        handler: Callable[..., Awaitable[Reply]] | None = getattr(self, f"on_{name}", None)
        if handler is None:
            return {"ok": False, "reason": f"unknown request {name}"}
        reply = await handler(**args)
        if not reply["ok"] and reply.get("reason") == "stale":
            log().warning("stale_write_refused", write=name, task=self.attempt.task.id, fence=self.attempt.fence)
            raise Stale
        return reply

    async def _ask(self, call: Callable[..., Answer], *args: Any, **named: Any) -> Answer:
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(OUTAGE),
            wait=wait_random_exponential(multiplier=0.1, max=0.5),
            stop=_UntilTrustEnds(self),
            reraise=True,
        )
        return await retrying(asyncio.to_thread, call, *args, **named)

    async def on_step(self, name: str, timeout_s: float) -> Reply:
        """Begin a step."""
        if self.draining():
            return {"ok": True, "go": "draining", "value": "the worker drains"}
        reply = await self._ask(self.attempt.step, name)
        if reply["ok"] and reply["go"] == "go":
            self.deadlines.give("step", f"the time of step {name}", timeout_s + STEP_GRACE_S, of=name)
            self.tally.step_began(name)
        return reply

    async def on_checkpoint(self, name: str, value: str) -> Reply:
        """Store a step's result."""
        self.deadlines.clear("step", of=name)
        self.tally.step_ended(name, done=True)
        if len(value.encode()) > LARGEST:
            return {"ok": False, "reason": "too large"}
        return await self._ask(self.attempt.checkpoint, name, value)

    async def on_step_failed(self, name: str, error: str) -> Reply:
        """A step raised; its workflow may go on without it."""
        self.deadlines.clear("step", of=name)
        self.tally.step_ended(name, done=False)
        return await self._ask(self.attempt.record, "step_failed", {"step": name, "error": error})

    async def on_record(self, action: str, data: dict[str, Any], fields: dict[str, str] | None = None) -> Reply:
        """Write into the timeline; of the record only `progress`."""
        if action == "tab_died":
            self.tally.tab_died()
        kept = {key: value for key, value in (fields or {}).items() if key == "progress"}
        return await self._ask(self.attempt.record, action, data, kept)

    async def on_look(self, operation: str, description: str) -> Reply:
        """What the ledger knows, and whether this is a rehearsal."""
        return await self._ask(self.attempt.look, operation, description) | {"rehearsal": self.rehearsal}

    async def on_sent(
        self,
        operation: str,
        token: str,
        description: str,
        approval: bool,
        timeout_s: float,
        settle_s: float,
        browser: dict[str, Any],
    ) -> Reply:
        """The gate. From its ok on the act has its own deadline, and a drain waits."""
        if self.draining() or self.rehearsal:
            return {"ok": False, "reason": "rehearsal" if self.rehearsal else "draining"}
        here = {"k": self.lock_k, "machine": self.volume.machine, "boot": processes.boot_id()}
        facts = {**here, **browser, "settle_s": settle_s}
        self.acting.add(operation)
        self.unknown.add(operation)
        reply = await self._ask(self.attempt.sent, operation, token, description, approval, facts)
        if reply["ok"]:
            self.deadlines.give("act", f"the time of {operation}", timeout_s + LOOK_S, of=operation)
        else:
            self.acting.discard(operation)
            self.unknown.discard(operation)
        return reply

    async def on_happened(self, operation: str, try_: int, token: str, receipt: str) -> Reply:
        """The receipt of an act."""
        reply = await self._ask(self.attempt.settle, operation, try_, "happened", token=token, receipt=receipt)
        if reply["ok"]:
            self.acting.discard(operation)
            self.unknown.discard(operation)
            self.deadlines.clear("act", of=operation)
        return reply

    async def on_open(self) -> Reply:
        """The task's effects that are `sent`, by whomever."""
        return {"ok": True, "open": await self._ask(self.attempt.open_effects)}

    async def on_prove(self, operation: str, own_lock: str = "") -> Reply:
        """Whether everyone who could act on it is gone."""
        reason = await self._ask(self.takeover.prove, operation, own_lock)
        data = {"operation": operation, "proved": not reason, "why": reason}
        await self._ask(self.attempt.record, "takeover_proof", data)
        return {"ok": not reason, "reason": reason}

    async def on_begin_look(self, operation: str, settle_s: float) -> Reply:
        """Whether a look that begins now may say absent."""
        left = self.takeover.begin_look(operation, settle_s)
        return {"ok": left <= 0, "reason": "settling", "wait_s": left}

    async def on_confirmed(self, operation: str, try_: int, outcome: str, receipt: str) -> Reply:
        """What a takeover's confirm saw."""
        sent = (await self._ask(self.attempt.open_effects)).get(operation)
        quiet = operation in self.takeover.quiet
        reply = await self._ask(self.attempt.settle, operation, try_, outcome, quiet=quiet, receipt=receipt)
        if reply["ok"] and sent and operation in self.takeover.proved:
            await asyncio.to_thread(self.takeover.tidy, sent)
        return reply

    async def on_profile_opened(self, found: dict[str, Any]) -> Reply:
        """What was found, and mended, when the profile was opened."""
        await self._ask(self.attempt.record, "profile_opened", found)
        return await self._ask(self.attempt.profile, {"state": "open", "opened": found})

    async def on_profile_closed(self, ending: str) -> Reply:
        """How the profile's browser ended: clean or killed."""
        await self._ask(self.attempt.record, "profile_closed", {"ending": ending})
        return await self._ask(self.attempt.profile, {"state": "clean" if ending == "clean" else "unclean"})
