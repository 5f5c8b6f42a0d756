"""The pool in numbers, read from the store at one look: what the active scheduler shows for all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TypeVar

import redis

from koala import counts, keys, metrics, queue, running, starts, tasks, waiting, why
from koala.meters import Look, Values
from koala.schedules import record
from koala.store import Store
from koala.why import Facts

Name = TypeVar("Name", bound=str)
Names = TypeVar("Names", bound=tuple[str, ...])


def look(store: Store, rq: redis.Redis) -> Look:
    """Everything, in some twenty round trips of which none waits longer than the clients' timeout."""
    facts = why.look(store)
    counted = counts.total(counts.by_image(store).values())
    values: Values = {
        **_tasks(store, facts),
        **_counted(counted),
        **_attempts(store, facts),
        **_slots(facts),
        **_holds(store, facts),
        **_starts(store, facts),
        **_schedules(store, facts),
        metrics.DELIVERIES: {(): _deliveries(rq, facts)},
    }
    return Look(values, {"workflow": _workflows(facts) | counted.workflows})


def _workflows(facts: Facts) -> set[str]:
    """The names that live workers know."""
    return {kind.rpartition("@")[0] for kinds in facts.runs.values() for kind in kinds}


def _each(numbers: Mapping[Name, float]) -> dict[tuple[str, ...], float]:
    """Numbers by one label."""
    return {(str(name),): float(number) for name, number in numbers.items()}


def _pairs(numbers: Mapping[Names, int]) -> dict[tuple[str, ...], float]:
    return {names: float(number) for names, number in numbers.items()}


def _tasks(store: Store, facts: Facts) -> Values:
    found = waiting.look(store, facts)
    last = store.client.zrevrange(keys.index("done"), 0, 0, withscores=True)
    ages = {reason: max(0, facts.now_ms - since) / 1000 for reason, since in found.oldest_ms.items()}
    asked = found.oldest_ms.get(why.Reason.REVIEW, facts.now_ms)
    return {
        metrics.TASKS: _each(tasks.counts(store)),
        metrics.WAITING: _each(found.number),
        metrics.OLDEST_WAITING: _each(ages),
        metrics.UNEXAMINED: {(): found.unexamined},
        metrics.LAST_COMPLETION: {(): float(last[0][1]) / 1000 if last else 0.0},
        metrics.REVIEWS: {(): found.number[why.Reason.REVIEW]},
        metrics.OLDEST_REVIEW: {(): max(0, facts.now_ms - asked) / 1000},
    }


def _counted(found: counts.Counts) -> Values:
    return {
        metrics.ATTEMPTS: _pairs(found.attempts),
        metrics.ENDED: _pairs(found.ended),
        metrics.POOL_CRASHES: _each(found.crashes),
    }


def _attempts(store: Store, facts: Facts) -> Values:
    found = running.look(store, facts)
    return {metrics.STUCK_ATTEMPTS: _each(found.stuck), metrics.QUIET: {(): found.quiet_ms / 1000}}


def _slots(facts: Facts) -> Values:
    states = Counter(_state(slot, facts) for slot in facts.slots)
    workers = {slot.get("worker", "") for slot in facts.slots}
    return {metrics.SLOTS: _each(states), metrics.WORKERS: {(): len(workers)}}


def _state(slot: dict[str, str], facts: Facts) -> str:
    """What a slot does, one of `metrics.SLOT_STATES`."""
    if slot["id"] in facts.busy:
        return "busy"
    if facts.drains(slot):
        return "draining"
    if slot.get("trial") == "1":
        return "trial"
    if slot.get("accepting") == "1":
        return "idle"
    fails = {slot.get(name, "0") for name in ("no_browser", "crashing")} != {"0"}
    return "resting" if fails else "starting"


def _holds(store: Store, facts: Facts) -> Values:
    """Leases, and switches that hold something: a worker's only while it is there."""
    there = {f"worker:{slot.get('worker', '')}" for slot in facts.slots}
    on = [name for name in facts.switches if not name.startswith("worker:") or name in there]
    expired = max(0, store.client.zcard(keys.LEASES) - len(facts.leases))
    return {
        metrics.LEASES: _each({"held": len(facts.leases), "expired": expired}),
        metrics.SWITCHED: _each(Counter(name.partition(":")[0] for name in on)),
    }


def _starts(store: Store, facts: Facts) -> Values:
    told = starts.seen(store).values()
    return {
        metrics.STARTS: _each({tally.program: tally.starts for tally in told}),
        metrics.START_FAILURES: _each({tally.program: tally.failures for tally in told}),
        metrics.CLEAN_ENDS: _each({tally.program: tally.clean for tally in told}),
        metrics.FAILED_STARTS: _each({tally.program: tally.row_lately(facts.now_ms) for tally in told}),
        metrics.LAST_EXIT: _each({tally.program: tally.exit for tally in told}),
        metrics.LAST_START: _each({tally.program: tally.started_ms / 1000 for tally in told}),
    }


def _schedules(store: Store, facts: Facts) -> Values:
    return {
        metrics.SCHEDULES: _each(record.by_status(store)),
        metrics.OCCURRENCES: _each(record.counts(store)),
        metrics.SCHEDULE_LAG: {(): record.lag_ms(store, facts.now_ms) / 1000},
    }


def _deliveries(rq: redis.Redis, facts: Facts) -> int:
    return sum(len(queue.waiting(rq, keys.queue(work_class))) for work_class in facts.runs)
