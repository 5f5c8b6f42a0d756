"""Leases: a term on a profile (or on a task without one), its fence, and how long its holder may trust it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from koala import counts, images, keys
from koala.clock import boottime
from koala.fence import Fence
from koala.store import Store, to_lua
from koala.tasks import Task, many

NEVER = Fence(0, 0)
"""Below every fence that was ever given."""


@dataclass(frozen=True)
class Lease:
    """A term that was granted.

    `trusted_until` is CLOCK_BOOTTIME: from before it was asked for, for the TTL less a margin.
    """

    fence: str
    resource: str
    expires_ms: int
    trusted_until: float
    rolls_back: bool = False
    """When it was granted the pool had gone back to the asker's image: what a newer browser did to the profile may be
    undone."""


@dataclass(frozen=True)
class Terms:
    """How long a lease lasts and how much of that its holder does not count on, in seconds."""

    ttl_s: float
    margin_s: float

    @property
    def ttl_ms(self) -> int:
        """The TTL for the store."""
        return int(self.ttl_s * 1000)

    def trust(self, asked_at: float) -> float:
        """Until when a holder that asked at `asked_at` may act."""
        return asked_at + self.ttl_s - self.margin_s


def acquire(
    store: Store,
    task: Task,
    token: str,
    terms: Terms,
    *,
    slot: str,
    worker: str,
    facts: dict[str, Any],
    seen: Fence = NEVER,
) -> Lease | str:
    """Take the lease for one attempt, atomically; the reason of the refusal otherwise.

    Reasons: status, held, paused, epoch, hold, went_back: the store has given lower fences only than `seen`. The same
    token again gives the same lease. `facts` (machine, boot, pid, image) are kept with the attempt. Whether the pool
    has gone back to that image is told with the lease: the question costs no call of its own.
    """
    asked_at = boottime()
    own = [
        keys.lease(task.resource),
        keys.LEASES,
        keys.attempts(task.id),
        keys.FENCE,
        keys.SWITCHES,
        keys.HOLD,
        keys.TTL_MOST,
    ]
    reply = store.run(
        "acquire",
        [*task.block, *own],
        task.id,
        token,
        terms.ttl_ms,
        task.resource,
        slot,
        worker,
        to_lua(facts),
        *seen,
        images.gone_back_to(str(facts.get("image", counts.DEV))),
    )
    if not reply["ok"]:
        return str(reply["reason"])
    left_s = (reply["expires_ms"] - reply["now_ms"]) / 1000  # less than the TTL when the token was known already
    trusted_until = asked_at + left_s - terms.margin_s
    return Lease(reply["fence"], task.resource, reply["expires_ms"], trusted_until, reply["rolls_back"])


def renew(store: Store, lease: Lease, terms: Terms) -> Lease | None:
    """Lengthen a lease that is still held; None when it has ended, for ever."""
    asked_at = boottime()
    reply = store.run("renew", [keys.lease(lease.resource), keys.LEASES], lease.fence, terms.ttl_ms, lease.resource)
    if not reply["ok"]:
        return None
    return replace(lease, expires_ms=reply["expires_ms"], trusted_until=terms.trust(asked_at))


def release(
    store: Store, task: Task, fence: str, outcome: str, details: dict[str, Any], image: str = counts.DEV
) -> str | None:
    """End an attempt: lease and task in one step. Its task's status; None when the lease had ended before.

    outcome: done, failed, crashed, parked, snoozed, review (`details` then has the question), cancelled. `crash` in
    `details` is what died, a `counts.Crash`. The same fence again answers the same, and is not counted again.
    """
    own = [keys.lease(task.resource), keys.LEASES, keys.attempts(task.id), *counts.own_keys(image)]
    kind = details.get("crash") or (counts.OTHER if outcome == "crashed" else None)
    details = {**details, "crash": kind and counts.crash(kind)}
    reply = store.run(
        "release",
        [*task.block, *own],
        task.id,
        fence,
        task.resource,
        outcome,
        to_lua({name: value for name, value in details.items() if value is not None}),
    )
    return str(reply["status"]) if reply["ok"] else None


def gone(store: Store, task_id: str, fence: str, by: str, because: str) -> bool | None:
    """Report that all processes of an attempt are gone. True the first time, None when there is no such attempt."""
    own = [keys.gone(task_id), keys.timeline(task_id), keys.attempts(task_id)]
    reply = store.run("gone", own, fence, by, because)
    return bool(reply["first"]) if reply["ok"] else None


def gone_report(store: Store, task_id: str, fence: str) -> dict[str, Any] | None:
    """Who reported an attempt gone, and why; None when nobody has."""
    text = store.client.hget(keys.gone(task_id), fence)
    return json.loads(text) if text else None


def held(store: Store) -> dict[str, dict[str, str]]:
    """All unexpired leases: resource to record, at one look that is not atomic."""
    seconds, micros = store.client.time()
    now = int(seconds) * 1000 + int(micros) // 1000
    resources = [str(name) for name in store.client.zrangebyscore(keys.LEASES, f"({now}", "+inf")]
    pipe = store.client.pipeline(transaction=False)
    for resource in resources:
        pipe.hgetall(keys.lease(resource))
    return {resource: record for resource, record in zip(resources, pipe.execute(), strict=True) if record}


def _lost(store: Store, running: list[Task]) -> list[tuple[Task, str]]:
    """Each task with the image that ran its attempt."""
    pipe = store.client.pipeline(transaction=False)
    for task in running:
        pipe.hget(keys.attempts(task.id), task.fence)
    facts = [json.loads(text or "{}") for text in pipe.execute()]
    return [(task, str(fact.get("image") or counts.DEV)) for task, fact in zip(running, facts, strict=True)]


def rescue(store: Store, *, crashed: bool = True) -> list[tuple[str, str]]:
    """Put every running task without an unexpired lease back; returns (task id, its new status) of each.

    `crashed` False when the store itself was away, which is nobody's crash.
    """
    running = [str(id_) for id_ in store.client.zrange(keys.index("running"), 0, -1)]
    current = {record["task"] for record in held(store).values()}
    rescued = []
    for task, image in _lost(store, list(many(store, [id_ for id_ in running if id_ not in current]))):
        own = [keys.lease(task.resource), keys.LEASES, keys.attempts(task.id), *counts.own_keys(image)]
        reply = store.run("rescue", [*task.block, *own], task.id, task.resource, "1" if crashed else "", task.fence)
        if reply["ok"]:
            rescued.append((task.id, str(reply["status"])))
    return rescued
