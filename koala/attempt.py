"""What one attempt may write, each word under its fence. The slot's parent calls it; nobody else writes for it.

Every call is atomic, blocks at most about a second, and raises StoreAway when it is not known whether it was carried
out; the same call again is then safe. A refusal is a normal return.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from koala import counts, faults, keys, leases, ledger
from koala.leases import Lease
from koala.store import Reply, Store, to_lua
from koala.tasks import Task


@dataclass
class Attempt:
    """One run of a task under one lease."""

    store: Store
    task: Task
    lease: Lease
    worker: str
    image: str = counts.DEV
    """The release that runs it, for which it is counted."""

    @property
    def fence(self) -> str:
        """The fence that every write names."""
        return self.lease.fence

    def _run(self, name: str, own: list[str], *args: str | int) -> Reply:
        faults.reach(f"{name}.before")
        reply = self.store.run(name, own, *args)
        faults.reach(f"{name}.after")
        return reply

    @property
    def _record(self) -> list[str]:
        return [keys.task(self.task.id), keys.timeline(self.task.id), keys.lease(self.task.resource)]

    def step(self, name: str) -> Reply:
        """Begin a step: `go` is saved (with `value`), go, paused or cancelled. Refusal: stale."""
        own = [
            *self._record,
            keys.checkpoints(self.task.id),
            keys.SWITCHES,
            keys.open_effects(self.task.id),
        ]
        return self._run("step", own, self.fence, name, self.worker)

    def checkpoint(self, name: str, value: str) -> Reply:
        """Store a step's result (JSON). The first value stays. Refusal: stale."""
        return self._run("checkpoint", [*self._record, keys.checkpoints(self.task.id)], self.fence, name, value)

    def record(self, action: str, data: dict[str, Any], fields: dict[str, str] | None = None) -> Reply:
        """Write a line into the timeline, and the field `progress` into the record. Refusal: stale."""
        return self._run("record", self._record, self.fence, action, json.dumps(data), to_lua(fields or {}))

    def look(self, operation: str, description: str) -> Reply:
        """What the ledger knows of an effect; planned and bound to this task if its key was free. Refusal: stale."""
        digest = ledger.digest(operation, description)
        own_key = "1" if operation.endswith(f"/{self.task.id}") else ""
        owner = str(self.store.client.hget(keys.effect(operation), "task") or "")
        while True:
            own = self._looked_at(operation, owner or self.task.id)
            args = (self.fence, self.task.id, operation, digest, description, owner, own_key)
            reply = self._run("effect_look", own, *args)
            if reply["ok"] or reply["reason"] != "moved":
                return reply
            owner = reply["owner"]

    def _looked_at(self, operation: str, owner: str) -> list[str]:
        return [
            keys.effect(operation),
            keys.timeline(self.task.id),
            keys.task_effects(self.task.id),
            keys.EFFECTS,
            keys.lease(self.task.resource),
            keys.task(owner),
            keys.task(self.task.id),
            keys.open_effects(self.task.id),
            keys.RESTORED,
        ]

    def sent(self, operation: str, token: str, description: str, approval: bool, facts: dict[str, Any]) -> Reply:
        """Pass the gate for one act; `facts` name the locks K, D, B and the machine. Idempotent by `token`.

        Refusals: stale, token, status, epoch, wanted, attempts, bound, state, restored, description, paused, approval.
        """
        own = [
            keys.effect(operation),
            keys.timeline(self.task.id),
            keys.lease(self.task.resource),
            keys.open_effects(self.task.id),
            keys.task(self.task.id),
            keys.SWITCHES,
            keys.EPOCH,
        ]
        digest = ledger.digest(operation, description)
        args = (
            self.fence,
            self.task.id,
            operation,
            token,
            digest,
            "1" if approval else "",
            to_lua(facts),
            self.worker,
        )
        return self._run("effect_sent", own, *args)

    def settle(
        self,
        operation: str,
        try_: int,
        outcome: str,
        *,
        token: str = "",
        quiet: bool = False,
        receipt: str = "",
    ) -> Reply:
        """Record happened (by receipt with the act's token, or by confirm) or absent (by a quiet confirm).

        Refusals: stale, bound, state, try, token, quiet.
        """
        own = [
            keys.effect(operation),
            keys.timeline(self.task.id),
            keys.lease(self.task.resource),
            keys.open_effects(self.task.id),
        ]
        how = "receipt" if token else "confirm"
        quiet_flag = "1" if quiet else ""
        return self._run("effect_settle", own, self.fence, operation, try_, token, outcome, quiet_flag, receipt, how)

    def profile(self, fields: dict[str, Any]) -> Reply:
        """Note what was learned about the profile. Refusal: stale."""
        own = [keys.lease(self.task.resource), keys.PROFILES]
        return self._run("profile", own, self.fence, self.task.profile, to_lua(fields))

    def open_effects(self) -> dict[str, dict[str, Any]]:
        """The task's effects that are `sent`, also by earlier attempts."""
        return ledger.open_of_task(self.store, self.task.id)

    def renew(self, terms: leases.Terms) -> Lease | None:
        """Lengthen the lease; None when it has ended, for ever."""
        faults.reach("renew.before")
        lease = leases.renew(self.store, self.lease, terms)
        faults.reach("renew.after")
        if lease:
            self.lease = lease
        return lease

    def gone(self, because: str) -> None:
        """Report, unfenced, that every process of this attempt is gone."""
        faults.reach("gone.before")
        leases.gone(self.store, self.task.id, self.fence, self.worker, because)
        faults.reach("gone.after")

    def release(self, outcome: str, details: dict[str, Any]) -> str | None:
        """End the attempt; the task's status, None when the lease had ended before."""
        faults.reach("release.before")
        status = leases.release(self.store, self.task, self.fence, outcome, details, self.image)
        faults.reach("release.after")
        return status
