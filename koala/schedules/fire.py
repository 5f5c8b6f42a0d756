"""Firing: decisions about schedules carried out, one occurrence a step."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from koala import keys, tasks
from koala.errors import NotFound, Refused, StoreUnsafe
from koala.logs import log
from koala.schedules import policy, record
from koala.schedules.definition import Definition, occurrence
from koala.schedules.record import Seen
from koala.schedules.state import Decision, State, Waiting
from koala.store import OUTAGE, Reply, Store, to_lua

ANY_SIZE = 1 << 40
"""The size of arguments is checked when a schedule is applied."""
FAULT_MS = 60_000
"""A schedule that cannot be decided about is put off by so much, so that it holds up nobody."""
KEEP_DAYS = 400.0


@dataclass(frozen=True)
class Step:
    """What a step did: `task` of the occurrence, if one was started; `known` when that was there before."""

    decision: Decision
    task: str = ""
    known: bool = False


def fire(store: Store, limit: int, keep_days: float = KEEP_DAYS) -> int:
    """Decide about the schedules that are due, in at most `limit` steps; how many there were.

    A step starts one occurrence at most. Costs what is due, not what exists. Safe beside any other caller: an
    occurrence becomes one task at most. Raises StoreAway; the next call goes on where this one stopped.
    """
    wanted, done = record.due(store, tasks.now_ms(store), limit), 0
    for seen in record.see(store, wanted) if wanted else ():
        if done < limit:
            done += _fire(store, seen, limit - done, keep_days)
    return done


def _fire(store: Store, seen: Seen, limit: int, keep_days: float) -> int:
    try:
        return _steps(store, seen, limit, keep_days)
    except (*OUTAGE, StoreUnsafe):
        raise
    except Exception as error:  # noqa: BLE001 - one bad schedule must not stop the others
        record.put_off(store, seen, FAULT_MS)
        log().error("schedule_failed", schedule=seen.name, error=str(error)[:300])
        return 1


def _steps(store: Store, seen: Seen, limit: int, keep_days: float) -> int:
    """Step until nothing is due any more, or somebody else is at it; how often."""
    for done in range(limit):
        state = record.states(store, [seen])[0]
        made = step(store, seen, state, policy.decide(state, seen.now_ms), keep_days)
        if made:
            _tell(state, made)
        if made is None or not 0 < made.decision.next_ms <= seen.now_ms:
            return done + 1
        again = record.see(store, [seen.name])
        if not again:
            return done + 1
        seen = again[0]
    return limit


def step(store: Store, seen: Seen, state: State, decision: Decision, keep_days: float = KEEP_DAYS) -> Step | None:
    """Carry out one decision; None when the schedule has changed since, or the store's clock went back. Atomic.

    After StoreAway it may have been carried out: read the schedule again and decide anew.
    """
    start = decision.start
    task_id = tasks.new_id()
    reply = _run(store, seen, state, decision, _task(state.definition, start, task_id, decision, keep_days))
    if not reply["ok"]:
        return None
    for running in decision.cancel:
        _cancel(store, running, state.name)
    return Step(decision, reply.get("task", ""), reply.get("known", False))


def _run(store: Store, seen: Seen, state: State, decision: Decision, task: dict[str, Any] | None) -> Reply:
    definition, start = state.definition, decision.start
    id_ = task["id"] if task else "-"
    still = [[run.task_id, run.planned_ms] for run in state.running]
    first = keys.task(id_)
    if start and not decision.by_hand:
        first = keys.dedupe(occurrence(definition.name, start.planned_ms))
    return store.run(
        "schedule_step",
        [
            *keys.block(id_, keys.lane_id(*definition.lane)), first, keys.schedule(seen.name),
            keys.schedule_history(seen.name), keys.SCHEDULES, keys.SCHEDULES_DUE, keys.SCHEDULES_COUNTS,
            keys.SCHEDULES_PUT_OFF, *(keys.task(run.task_id) for run in state.runs),
        ],
        seen.name, str(seen.turn), seen.epoch,
        to_lua(_fields(seen, state, decision)), decision.status.code, decision.next_ms,
        to_lua(_history(state, decision)),
        to_lua([{"id": run.task_id, "ended": run.ended} for run in state.runs]),
        to_lua(task) if task else "",
        to_lua([*still, [id_, start.planned_ms]] if start else still),
        to_lua(still),
    )  # fmt: skip


def _fields(seen: Seen, state: State, decision: Decision) -> dict[str, str]:
    """The record's fields. The epoch is the one in which the cursor was set: an older one tells of a restore."""
    kept = state.restored and decision.cursor_ms == state.cursor_ms
    return {
        "status": str(decision.status),
        "note": decision.note,
        "cursor_ms": str(decision.cursor_ms),
        "next_ms": str(decision.next_ms),
        "failures": str(decision.failures),
        "waiting": json.dumps([[item.planned_ms, int(item.asked)] for item in decision.waiting]),
        "epoch": seen.record.get("epoch", "") if kept else seen.epoch,
    }


def _history(state: State, decision: Decision) -> list[dict[str, Any]]:
    told = record.history_of(decision.skipped)
    if decision.status is not state.status:
        told.append({"outcome": str(decision.status), "by": "koala", "why": decision.note})
    return told


def _task(
    definition: Definition, start: Waiting | None, id_: str, decision: Decision, keep_days: float
) -> dict[str, Any] | None:
    """The task of an occurrence, as the script takes it; None when nothing starts.

    Its deadline counts from when it may start, so that one which is made up for late has its time too.
    """
    if start is None:
        return None
    due = start.planned_ms if decision.by_hand else definition.due_ms(start.planned_ms)
    given = tasks.Submission(
        workflow=definition.workflow, version=definition.version, args=definition.args, profile=definition.profile,
        priority=definition.priority, max_attempts=definition.max_attempts,
        dedupe="" if decision.by_hand else occurrence(definition.name, start.planned_ms),
    )  # fmt: skip
    return {
        "id": id_, "record": {**tasks.fields(given, ANY_SIZE), "schedule": definition.name}, "due": due,
        "deadline_after": definition.deadline_ms, "planned": start.planned_ms, "by_hand": decision.by_hand,
        "keep_s": int(keep_days * 86400),
    }  # fmt: skip


def _tell(state: State, made: Step) -> None:
    decision = made.decision
    if decision.start:
        action = "occurrence_known" if made.known else "schedule_fired"
        log().info(action, schedule=state.name, planned_ms=decision.start.planned_ms, task=made.task)
    for item in decision.skipped:
        log().info(
            "occurrences_skipped", schedule=state.name, outcome=str(item.outcome), from_ms=item.from_ms,
            to_ms=item.to_ms, count=item.count,
        )  # fmt: skip
    if decision.status is not state.status:
        log().warning("schedule_status", schedule=state.name, status=str(decision.status), why=decision.note)


def _cancel(store: Store, task_id: str, name: str) -> None:
    """End a run for the next one, again with each look while that waits; one that has ended stays as it is."""
    try:
        tasks.cancel(store, task_id, f"schedule {name}", "the next run is due")
    except (Refused, NotFound):
        return
