"""Running attempts that should have ended by themselves, and the one that has been quiet for longest."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from koala import keys, tasks
from koala.store import Store
from koala.tasks import Task
from koala.why import Facts

MOST = 500
"""Running attempts that are looked at: a pool of this kind has fewer slots."""
GRACE_S = 120.0
"""Beyond its runtime limit: an act that is under way is never cut, and closing a browser takes a moment."""


@dataclass
class Running:
    """What runs. `stuck` has a sign of `koala.metrics.STUCK` for each attempt that shows one, the plainest first."""

    number: int = 0
    stuck: Counter[str] = field(default_factory=Counter)
    quiet_ms: int = 0
    """How long the quietest has begun and ended nothing; 0 when none runs."""


def look(store: Store, facts: Facts) -> Running:
    """All of it, in three round trips. Redis errors pass through."""
    pipe = store.client.pipeline(transaction=False)
    running = list(tasks.many(store, tasks.ids(store, "running", limit=MOST)))
    for task in running:
        pipe.hget(keys.attempts(task.id), task.fence)
        pipe.xrevrange(keys.timeline(task.id), count=1)
    told = pipe.execute()
    alive = {slot["id"] for slot in facts.slots}
    found = Running(len(running))
    for task, attempt, last in zip(running, told[::2], told[1::2], strict=True):
        sign = _stuck(task, json.loads(attempt or "{}"), facts, alive)
        if sign:
            found.stuck[sign] += 1
        found.quiet_ms = max(found.quiet_ms, facts.now_ms - (int(last[0][1]["at"]) if last else facts.now_ms))
    return found


def _stuck(task: Task, attempt: dict[str, Any], facts: Facts, alive: set[str]) -> str:
    """By what it shows that it is stuck; empty when it is not."""
    lease = facts.leases.get(task.resource, {})
    if lease.get("fence") != task.fence:
        return "lease"
    over_s = (facts.now_ms - int(attempt.get("started_ms", facts.now_ms))) / 1000 - float(attempt.get("runtime_s", 1e9))
    if over_s > GRACE_S:
        return "overdue"
    return "" if lease.get("slot", "") in alive else "slot"
