"""Slots as the pool sees them: who is there, what it can run, whether it takes work."""

from __future__ import annotations

from typing import Any

from koala import keys
from koala.store import Store, to_lua


def heartbeat(store: Store, slot: str, ttl_s: float, fields: dict[str, Any], runs: list[str], work_class: str) -> int:
    """Say that a slot lives, for `ttl_s`; returns the store's time in ms."""
    texts = {name: str(value) for name, value in fields.items()}
    own = [keys.slot(slot), keys.SLOTS, keys.work_class(work_class)]
    reply = store.run("slot", own, slot, int(ttl_s * 1000), to_lua({**texts, "class": work_class}), to_lua(runs))
    return int(reply["now_ms"])


def leave(store: Store, slot: str, work_class: str) -> None:
    """Take a slot out of the pool."""
    store.run("slot", [keys.slot(slot), keys.SLOTS, keys.work_class(work_class)], slot, 0, "{}", "[]")


def forget_class(store: Store, work_class: str) -> None:
    """Remove a class of work that nobody is in any more."""
    store.client.delete(keys.work_class(work_class))


def alive(store: Store) -> list[dict[str, str]]:
    """The last heartbeat of every slot that lives."""
    seconds, micros = store.client.time()
    now = int(seconds) * 1000 + int(micros) // 1000
    names = [str(name) for name in store.client.zrangebyscore(keys.SLOTS, f"({now}", "+inf")]
    pipe = store.client.pipeline(transaction=False)
    for name in names:
        pipe.hgetall(keys.slot(name))
    return [record for record in pipe.execute() if record]


def workers(store: Store) -> set[str]:
    """The workers that have a slot, or had one that did not leave in order within the last day."""
    pipe = store.client.pipeline(transaction=False)
    for name in store.client.zrange(keys.SLOTS, 0, -1):
        pipe.hget(keys.slot(str(name)), "worker")
    return {str(worker) for worker in pipe.execute() if worker}


def known_kinds(store: Store, live: list[dict[str, str]]) -> set[str]:
    """Every `workflow@version` that some live slot can run."""
    pipe = store.client.pipeline(transaction=False)
    for work_class in sorted({slot["class"] for slot in live}):
        pipe.smembers(keys.work_class(work_class))
    return {str(kind) for kinds in pipe.execute() for kind in kinds}
