"""One effect, from the look into the ledger to its receipt: promise 3 as the child carries it out.

The order of what happens here is the protocol. The parent keeps the records, the proof and the clock of the settle
time; this side acts, at most once for each `sent` it was granted, and looks.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from koala import ledger, settling
from koala.clock import boottime
from koala.errors import told
from koala.redaction import redact
from koala.signals import Cancel, End, Signal
from koala.values import result_of, to_json

if TYPE_CHECKING:
    from koala.ports import Browser, Parent


class Absent:
    """The type of ABSENT."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()
"""What `confirm` returns when it has looked and the effect is not there."""

UNSEEN = object()
LOOK_S = 10.0
"""How long one look by `confirm` may take; the parent's deadline of an act leaves room for one."""


@dataclass(frozen=True)
class Operation:
    """What `do` and `confirm` are given. `id` is the same in every try: a reference for sites that take one."""

    id: str
    key: str
    try_: int


@dataclass(frozen=True)
class Terms:
    """An effect as its author described it. `description` is canonical JSON; times are seconds."""

    operation: str
    key: str
    description: str
    do: Callable[[Operation], Any]
    confirm: Callable[[Operation], Any] | None
    approval: bool
    timeout_s: float
    settle_s: float


class Effect:
    """One effect of one attempt."""

    def __init__(self, terms: Terms, parent: Parent, browser: Browser) -> None:
        self._terms = terms
        self._parent = parent
        self._browser = browser

    async def perform(self) -> Any:
        """The receipt. Raises End when the attempt cannot go on: unknown, paused, a person or holder awaited."""
        seen = await self._look()
        if seen["state"] == "happened":
            return await self._known(seen)
        if not seen["mine"]:
            raise End("parked", f"its key belongs to task {seen['owner']}, which has not settled it", wait="key")
        if seen["state"] == "sent":
            receipt = await self._take_over(seen)
            if receipt is not ABSENT:
                return receipt
            seen = await self._look()
        if seen.get("rehearsal"):
            raise await self._rehearsed(seen)
        self._check_approval(seen)
        await self._browser.barrier(always=True)
        await self._browser.shield(True)
        try:
            receipt = await self._act()
        finally:
            await self._browser.shield(False)
        await self._browser.barrier()
        return receipt

    async def _look(self) -> dict[str, Any]:
        return await self._parent.call("look", operation=self._terms.operation, description=self._terms.description)

    async def _known(self, seen: dict[str, Any]) -> Any:
        if not seen["mine"]:
            await self._parent.call(
                "record",
                action="receipt_taken",
                data={"operation": self._terms.operation, "of": seen["owner"]},
            )
        return json.loads(seen["receipt"])

    async def _rehearsed(self, seen: dict[str, Any]) -> End:
        """Say what would be done and what `confirm` sees now, and end before the gate, which is closed."""
        terms = self._terms
        found = await self._look_once(Operation(terms.operation, terms.key, int(seen["try"])))
        looked = "absent" if found is ABSENT else "happened"
        if found is UNSEEN:
            looked = "cannot tell" if terms.confirm else "none"
        data = {
            "operation": terms.operation,
            "description": json.loads(terms.description),
            "approval": bool(terms.approval and not seen["approved"]),
            "confirm": looked,
        }
        await self._parent.call("record", action="effect_rehearsed", data=data)
        return End("parked", f"rehearsed: {terms.operation} would be done here")

    def _check_approval(self, seen: dict[str, Any]) -> None:
        if not self._terms.approval or seen["approved"]:
            return
        if seen["rejected"]:
            raise Cancel(f"{self._terms.operation} was rejected by {json.loads(seen['rejected'])['by']}")
        raise self._question(
            "approval", int(seen["try"]), quiet=True, why="a person has to approve this before it is done"
        )

    def _question(self, kind: str, try_: int, *, quiet: bool, why: str) -> End:
        terms = self._terms
        question = {
            "kind": kind,
            "operation": terms.operation,
            "try": try_,
            "hash": ledger.digest(terms.operation, terms.description),
            "description": terms.description,
            "quiet": quiet,
            "why": why,
            "evidence": "",
        }
        return End("review", why, question=question)

    async def _act(self) -> Any:
        """Pass the gate and do it, once. The token never leaves this call."""
        terms = self._terms
        token = secrets.token_hex(16)
        gate = await self._parent.call(
            "sent",
            operation=terms.operation,
            token=token,
            description=terms.description,
            approval=terms.approval,
            timeout_s=terms.timeout_s,
            settle_s=terms.settle_s,
            browser=self._browser.locks(),
        )
        if not gate["ok"]:
            raise self._refused(gate)
        if boottime() >= self._parent.trusted_until:
            raise End("crashed", f"the lease could no longer be trusted before {terms.operation} was done")
        operation = Operation(terms.operation, terms.key, int(gate["try"]))
        receipt = await self._do(operation)
        await self._record(operation, token, receipt)
        return receipt

    def _refused(self, gate: dict[str, Any]) -> End:
        reason = gate["reason"]
        if reason == "attempts":
            return End("failed", f"{self._terms.operation} did not happen, and no attempt is left to do it again")
        if reason in ("paused", "wanted", "draining", "rehearsal"):
            return End("parked", f"the gate is closed: {gate.get('switch') or gate.get('wanted') or reason}")
        return End("crashed", f"the gate refused {self._terms.operation}: {reason}")

    async def _do(self, operation: Operation) -> Any:
        self._browser.acting(True)
        clock = asyncio.timeout(self._terms.timeout_s)
        try:
            async with clock:
                receipt = await result_of(self._terms.do, operation)
            if receipt is ABSENT:
                raise ValueError("`do` returned ABSENT; only `confirm` may")
            return receipt
        except (Exception, asyncio.CancelledError, Signal) as error:
            receipt = await self._look_once(operation)
            if receipt is UNSEEN or receipt is ABSENT:
                raise self._unknown(error, late=clock.expired()) from error
            return receipt
        finally:
            self._browser.acting(False)

    def _unknown(self, error: BaseException, *, late: bool) -> End:
        dead = self._browser.failed()
        said = f"`do` took longer than its timeout of {self._terms.timeout_s:g} s" if late else told(error)
        said = f"its {dead} died" if dead else said
        outcome = "crashed" if dead else "failed"
        return End(outcome, f"the outcome of {self._terms.operation} is unknown: {said}", kill=True)

    async def _record(self, operation: Operation, token: str, receipt: Any) -> None:
        try:
            text, fault = to_json(receipt, f"the receipt of {operation.id}"), None
        except TypeError as error:
            text, fault = json.dumps({"unreadable": type(receipt).__name__}), error
        reply = await self._parent.call(
            "happened", operation=operation.id, try_=operation.try_, token=token, receipt=text
        )
        if not reply["ok"]:
            raise End("crashed", f"the receipt of {operation.id} was refused: {reply['reason']}")
        if fault:
            raise fault

    async def _look_once(self, operation: Operation) -> Any:
        """What one look by `confirm` says: a receipt, ABSENT, or UNSEEN when it cannot tell."""
        if self._terms.confirm is None or self._browser.failed():
            return UNSEEN
        try:
            async with asyncio.timeout(LOOK_S):
                return await result_of(self._terms.confirm, operation)
        except Exception as error:  # noqa: BLE001 - whatever the author's look raises, it could not tell
            data = {"operation": operation.id, "error": redact(told(error))[:300]}
            await self._parent.call("record", action="confirm_failed", data=data)
            return UNSEEN

    async def _take_over(self, seen: dict[str, Any]) -> Any:
        """Settle a `sent` that is not ours: happened at once; absent only when it is quiet; else ask."""
        operation = Operation(self._terms.operation, self._terms.key, int(seen["try"]))
        data = {"operation": operation.id, "try": operation.try_}
        await self._parent.call("record", action="takeover_started", data=data)
        found = await self._look_once(operation)
        if found is not UNSEEN and found is not ABSENT:
            return await self._confirmed(operation, found)
        await settling.prove(self._parent, self._browser, operation.id)
        await settling.wait(self._parent, operation.id, self._terms.settle_s)
        found = await self._look_once(operation)
        if found is UNSEEN:
            raise self._question("unknown", operation.try_, quiet=True, why=self._cannot_tell(seen))
        return await self._confirmed(operation, found)

    def _cannot_tell(self, seen: dict[str, Any]) -> str:
        why = "confirm cannot tell whether it happened" if self._terms.confirm else "there is no confirm for it"
        restored = json.loads(seen["sent"] or "{}").get("owner") == "ALL"
        return f"the store was restored, so it may have been done after the backup, and {why}" if restored else why

    async def _confirmed(self, operation: Operation, found: Any) -> Any:
        outcome = "absent" if found is ABSENT else "happened"
        receipt = "" if found is ABSENT else to_json(found, f"the receipt of {operation.id}")
        reply = await self._parent.call(
            "confirmed", operation=operation.id, try_=operation.try_, outcome=outcome, receipt=receipt
        )
        if not reply["ok"]:
            raise End("crashed", f"settling {operation.id} was refused: {reply['reason']}")
        return found
