"""Switches: pause for the pool, a workflow or a profile; drain for a worker."""

from __future__ import annotations

import json
from dataclasses import dataclass

from koala import keys
from koala.clock import wall_ms
from koala.errors import Refused
from koala.store import Store

POOL = "pool"
WORKER = "worker:"


def name(kind: str, of: str = "") -> str:
    """The switch of `pool`, or of one `workflow`, `profile` or `worker`. Raises Refused when it is not said which."""
    if kind == POOL:
        return POOL
    if not of:
        raise Refused(f"say which {kind}: the whole pool has a switch of its own")
    return f"{kind}:{of}"


@dataclass(frozen=True)
class Switch:
    """A switch that is on."""

    name: str
    by: str
    why: str
    since_ms: int


def turn_on(store: Store, switch: str, by: str, why: str = "") -> bool:
    """Pause or drain, from the next gate of any attempt on; False when it was on already (its first note stays)."""
    record = json.dumps({"by": by, "why": why, "since_ms": wall_ms()})
    return bool(store.client.hsetnx(keys.SWITCHES, switch, record))


def turn_off(store: Store, switch: str) -> bool:
    """Resume; False when it was off."""
    return bool(store.client.hdel(keys.SWITCHES, switch))


def forget_workers(store: Store, known: set[str], before_ms: int) -> int:
    """Turn off the drains of workers that are not `known` any more, turned on before; how many.

    A worker's name is never used again. One that leaves nothing behind is forgotten, so is one that died a day ago.
    """
    switches = [
        name
        for name, switch in all_on(store).items()
        if name.startswith(WORKER) and name.removeprefix(WORKER) not in known and switch.since_ms < before_ms
    ]
    return int(store.client.hdel(keys.SWITCHES, *switches)) if switches else 0


def all_on(store: Store) -> dict[str, Switch]:
    """Every switch that is on, by name."""
    rows = store.hash(keys.SWITCHES)
    return {switch: Switch(switch, **json.loads(text)) for switch, text in rows.items()}


def pausing(on: dict[str, Switch], workflow: str, profile: str) -> Switch | None:
    """The switch that holds a task of this workflow and profile, None when none does."""
    return on.get(POOL) or on.get(f"workflow:{workflow}") or (on.get(f"profile:{profile}") if profile else None)
