"""How many tasks wait, by why, and for how long: for all tasks at once, and cheap.

Ready tasks of one lane are alike in all that gates them, so a lane is decided once, by its head. Only so many lanes
are looked at; what is in the others is counted as unexamined. How long is looked up for the heads, for the tasks that
have been ready longest, and for those that are due first.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from koala import keys, tasks, why
from koala.store import Store
from koala.tasks import Task
from koala.why import Facts, Reason

LANES = 300
OLDEST = 200
SOON = 200
HANDED = 1000
FIELDS = ("status", "workflow", "version", "profile", "lane", "created_ms", "due_ms", "waits", "reason")


@dataclass
class Waiting:
    """What waits. `oldest_ms` is since when the longest one could have run; a reason that nothing has is not there."""

    number: Counter[Reason] = field(default_factory=Counter)
    oldest_ms: dict[Reason, int] = field(default_factory=dict)
    unexamined: int = 0

    def seen(self, reason: Reason, since_ms: int) -> None:
        """One task waits since then."""
        self.oldest_ms[reason] = min(since_ms, self.oldest_ms.get(reason, since_ms))


@dataclass(frozen=True)
class _Rough:
    """The first round trip: ids and numbers."""

    lanes: dict[str, int]
    heads: dict[str, str]
    ready: int
    later: int
    review: int
    ids: list[str]
    asked_ms: int


def look(store: Store, facts: Facts) -> Waiting:
    """All of it, in three round trips; the parts are not of one instant. Redis errors pass through."""
    rough = _rough(store)
    seen = _tasks(store, {*rough.ids, *rough.heads.values()})
    found = Waiting(unexamined=max(0, rough.ready - sum(rough.lanes.values())))
    for lane, number in rough.lanes.items():
        head = seen.get(rough.heads.get(lane, ""))
        if head:
            found.number[_of_lane(head, facts)] += number
    found.number[Reason.DUE] += rough.later
    for task in seen.values():
        _one(found, task, facts, rough)
    found.number[Reason.REVIEW] = rough.review
    if rough.asked_ms:
        found.seen(Reason.REVIEW, rough.asked_ms)
    found.number = +found.number
    return found


def _of_lane(task: Task, facts: Facts) -> Reason:
    """Why tasks like this one wait: without what it alone was parked for."""
    return why.decide(replace(task, status="ready", waits=""), facts).reason


def _one(found: Waiting, task: Task, facts: Facts, rough: _Rough) -> None:
    """Add one task's age; and its number, when its own reason is not the one that it was counted under."""
    if task.status not in ("ready", "later", "handed"):
        return
    reason = why.decide(task, facts).reason
    if task.status == "later" and not task.waits:
        reason = Reason.DUE  # past its time it waits for whoever promotes it
    found.seen(reason, task.created_ms if task.waits else max(task.created_ms, task.due_ms))
    if task.status == "handed":
        found.number[reason] += 1
    elif task.waits and (task.status == "later" or task.lane in rough.lanes):
        found.number[Reason.DUE if task.status == "later" else _of_lane(task, facts)] -= 1
        found.number[reason] += 1


def _rough(store: Store) -> _Rough:
    pipe = store.client.pipeline(transaction=False)
    pipe.zrange(keys.LANES, 0, LANES - 1)
    for status in ("ready", "later", "review"):
        pipe.zcard(keys.index(status))
    for status, most in (("ready", OLDEST), ("later", SOON), ("handed", HANDED)):
        pipe.zrange(keys.index(status), 0, most - 1)
    pipe.zrange(keys.ASKED, 0, 0, withscores=True)
    lanes, ready, later, review, oldest, soon, handed, asked = pipe.execute()
    for lane in lanes:
        pipe.zcard(keys.lane(lane))
        pipe.zrange(keys.lane(lane), 0, 0)
    told = pipe.execute()
    return _Rough(
        lanes=dict(zip(lanes, told[::2], strict=True)),
        heads={lane: head[0] for lane, head in zip(lanes, told[1::2], strict=True) if head},
        ready=ready,
        later=later,
        review=review,
        ids=[*oldest, *soon, *handed],
        asked_ms=int(asked[0][1]) if asked else 0,
    )


def _tasks(store: Store, ids: Iterable[str]) -> dict[str, Task]:
    """What gates each of these tasks; without their arguments and results."""
    listed = list(ids)
    pipe = store.client.pipeline(transaction=False)
    for id_ in listed:
        pipe.hmget(keys.task(id_), FIELDS)
    rows = zip(listed, pipe.execute(), strict=True)
    return {id_: tasks.from_record(_record(id_, row)) for id_, row in rows if row[0]}


def _record(id_: str, row: list[str | None]) -> dict[str, str]:
    return {"id": id_, "args": "", **{name: value or "" for name, value in zip(FIELDS, row, strict=True)}}
