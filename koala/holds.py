"""A profile in a person's hands: its lease without a task, for logging in, importing and the like.

No task of that profile starts meanwhile, and the fence is a new one, so whatever an older attempt left is refused.
Pausing does not stop it: a person may log in while the pool rests.
"""

from __future__ import annotations

from dataclasses import dataclass

from koala import keys
from koala.clock import boottime
from koala.leases import Lease, Terms
from koala.store import Store


@dataclass(frozen=True)
class Busy:
    """Why the lease was not given: held (by `task` on `worker`, or by a person), hold (after a restore) or epoch."""

    reason: str
    fence: str = ""
    task: str = ""
    worker: str = ""

    def __str__(self) -> str:
        if self.reason != "held":
            return "no lease is given for a moment after a restore"
        return f"task {self.task} runs on it (worker {self.worker})" if self.task else f"{self.worker} has it"


def take(store: Store, profile: str, who: str, token: str, terms: Terms) -> Lease | Busy:
    """Take the profile's lease, atomically. The same token again gives the same lease; raises StoreAway."""
    asked_at = boottime()
    resource = keys.resource("", profile)
    own = [keys.lease(resource), keys.LEASES, keys.FENCE, keys.HOLD, keys.EPOCH, keys.TTL_MOST]
    reply = store.run("hold", own, token, terms.ttl_ms, resource, who)
    if not reply["ok"]:
        return Busy(reply["reason"], reply.get("fence", ""), reply.get("task", ""), reply.get("worker", ""))
    left_s = (reply["expires_ms"] - reply["now_ms"]) / 1000
    return Lease(reply["fence"], resource, reply["expires_ms"], asked_at + left_s - terms.margin_s)


def drop(store: Store, lease: Lease, *, forget: str = "") -> bool:
    """Give it back, once; False when it had ended. `forget` names a deleted profile, whose record goes too."""
    own = [keys.lease(lease.resource), keys.LEASES, keys.PROFILES]
    return bool(store.run("drop", own, lease.fence, lease.resource, forget)["ok"])
