"""Tasks: the durable record of one piece of work, and every way in which one changes its state outside an attempt."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from koala import keys, names
from koala.clock import wall_ms
from koala.counts import NOBODY, own_keys
from koala.errors import InvalidArguments, NotFound, PayloadTooLarge, Refused
from koala.store import Store, to_lua
from koala.text import exact

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def new_id() -> str:
    """A task id: 18 characters that sort by the time of making, ending in 40 random bits."""
    number = time.time_ns() // 1_000_000 << 40 | secrets.randbits(40)
    return "".join(ALPHABET[number >> shift & 31] for shift in range(85, -5, -5))


@dataclass(frozen=True)
class Task:
    """A task record as read at one instant. Times are ms since 1970 by the store's clock; 0 means none."""

    id: str
    workflow: str
    version: int
    profile: str
    args: str
    status: str
    lane: str
    priority: int = 0
    attempts: int = 0
    crashes: int = 0
    max_attempts: int = 3
    jobs: int = 0
    created_ms: int = 0
    due_ms: int = 0
    deadline_ms: int = 0
    ended_ms: int = 0
    fence: str = ""
    reason: str = ""
    waits: str = ""
    wanted: str = ""
    wanted_reason: str = ""
    question: str = ""
    result: str = ""
    error: str = ""
    progress: str = ""
    dedupe: str = ""
    class_: str = ""
    released: str = ""
    extra: dict[str, str] = field(default_factory=dict)

    @property
    def ended(self) -> bool:
        """Whether nothing will run for it any more."""
        return self.status in keys.ENDED

    @property
    def kind(self) -> str:
        """`workflow@version`, as classes of work list it."""
        return f"{self.workflow}@{self.version}"

    @property
    def resource(self) -> str:
        """What its lease is on."""
        return keys.resource(self.id, self.profile)

    @property
    def block(self) -> list[str]:
        """The keys of scripts that move it."""
        return keys.block(self.id, self.lane)

    def public(self) -> dict[str, Any]:
        """The record for people and programs, as JSON-ready data."""
        shown = {
            name: value
            for name, value in vars(self).items()
            if name not in ("extra", "class_", "released", "lane", "jobs")
        }
        for name in ("args", "result", "progress"):
            shown[name] = json.loads(shown[name]) if shown[name] else None
        return shown


_NUMBERS = {name for name, kind in Task.__annotations__.items() if kind == "int"}


def from_record(record: dict[str, str]) -> Task:
    """Read a task out of its hash; fields of a newer Koala are kept in `extra`."""
    known: dict[str, Any] = {}
    extra: dict[str, str] = {}
    for name, value in record.items():
        name = "class_" if name == "class" else name
        if name not in Task.__dataclass_fields__ or name == "extra":
            extra[name] = value
        else:
            known[name] = int(value or 0) if name in _NUMBERS else value
    return Task(**known, extra=extra)


def get(store: Store, task_id: str) -> Task:
    """Read a task. Raises NotFound."""
    record = store.hash(keys.task(task_id))
    if not record:
        raise NotFound(f"there is no task {task_id!r}: `koala tasks` lists them")
    return from_record(record)


@dataclass(frozen=True)
class Submission:
    """A task to be accepted. `due_ms` 0 means now, `deadline_ms` 0 none; priority from -9 to 9, higher first."""

    workflow: str
    version: int
    args: dict[str, Any]
    profile: str = ""
    priority: int = 0
    due_ms: int = 0
    deadline_ms: int = 0
    dedupe: str = ""
    max_attempts: int = 3
    id: str = ""


@dataclass(frozen=True)
class Accepted:
    """A durable task. `existing` when the dedupe key (or id) was known already."""

    id: str
    existing: bool


def fields(given: Submission, payload_bytes: int = 256 * 1024) -> dict[str, str]:
    """A new task's record, as scripts that make one take it. Raises PayloadTooLarge or InvalidArguments."""
    args = json.dumps(given.args, separators=(",", ":"), ensure_ascii=False)
    size = len(args.encode(errors="replace"))
    if size > payload_bytes:
        raise PayloadTooLarge(
            f"the arguments are {size} bytes, at most {payload_bytes} are kept: pass a reference to the data instead"
        )
    if not -9 <= given.priority <= 9:
        raise InvalidArguments(f"priority {given.priority} is not between -9 and 9")
    if len(given.dedupe) > 200:
        raise InvalidArguments(f"the dedupe key has {len(given.dedupe)} characters, at most 200 are kept: use a hash")
    exact("the dedupe key", given.dedupe)
    return {
        "workflow": given.workflow,
        "version": str(given.version),
        "profile": given.profile,
        "args": args,
        "lane": keys.lane_id(given.workflow, given.version, given.profile),
        "priority": str(given.priority),
        "max_attempts": str(given.max_attempts),
        "dedupe": given.dedupe,
        "reason": "",
    }


def submit(store: Store, given: Submission, *, payload_bytes: int = 256 * 1024, dedupe_days: float = 400) -> Accepted:
    """Make a task durable. Atomic; the same `id` or `dedupe` again makes none.

    Raises PayloadTooLarge, InvalidArguments, InvalidName and StoreAway. After StoreAway the task may be there: submit
    again with the same id.
    """
    record = fields(given, payload_bytes)
    id_ = names.check("task", given.id) if given.id else new_id()
    lane = record["lane"]
    last = keys.dedupe(given.dedupe) if given.dedupe else keys.task(id_)
    reply = store.run(
        "submit",
        [*keys.block(id_, lane), last],
        id_,
        to_lua(record),
        given.due_ms,
        given.deadline_ms,
        "1" if given.dedupe else "",
        int(dedupe_days * 86400),
    )
    return Accepted(reply["id"], reply["existing"])


def cancel(store: Store, task_id: str, who: str, why: str = "") -> bool:
    """End a task; whether it ended at once. If not, it ends at its next step, or when its effect is settled."""
    task = get(store, task_id)
    reply = store.run("cancel", [*task.block, *own_keys(NOBODY)], task.id, who, why)
    if not reply["ok"]:
        raise Refused(f"task {task_id} has ended already ({reply.get('status')})")
    return not reply["waits"]


def retry(store: Store, task_id: str, who: str) -> None:
    """Start an ended task again from its checkpoints. Raises Refused when it is done or has not ended."""
    task = get(store, task_id)
    reply = store.run("retry", task.block, task.id, who)
    if not reply["ok"]:
        raise Refused(
            f"task {task_id} is {reply.get('status')}: only failed, cancelled, dead and expired tasks start again"
        )


def ids(
    store: Store, status: str, *, before_ms: int | None = None, limit: int = 100, newest: bool = False
) -> list[str]:
    """Task ids in a status by index score, at most `limit`; with `before_ms` only those whose score is at most that."""
    index, top = keys.index(status), "+inf" if before_ms is None else str(before_ms)
    if newest:
        return [str(id_) for id_ in store.client.zrevrangebyscore(index, top, "-inf", start=0, num=limit)]
    return [str(id_) for id_ in store.client.zrangebyscore(index, "-inf", top, start=0, num=limit)]


def many(store: Store, task_ids: list[str]) -> Iterator[Task]:
    """Read several tasks in one round trip; ids that are not there are left out."""
    pipe = store.client.pipeline(transaction=False)
    for id_ in task_ids:
        pipe.hgetall(keys.task(id_))
    for record in pipe.execute():
        if record:
            yield from_record(record)


def counts(store: Store) -> dict[str, int]:
    """How many tasks are in each status."""
    pipe = store.client.pipeline(transaction=False)
    for status in keys.STATUSES:
        pipe.zcard(keys.index(status))
    return dict(zip(keys.STATUSES, (int(number) for number in pipe.execute()), strict=True))


def promote(store: Store, limit: int = 200) -> int:
    """Make due tasks ready; returns how many. Safe beside any other caller."""
    due = ids(store, "later", before_ms=now_ms(store), limit=limit)
    return sum(store.run("promote", task.block, task.id)["ok"] for task in many(store, due))


def expire(store: Store, limit: int = 200) -> int:
    """End tasks past their deadline, or mark them to end; returns how many."""
    due = [str(id_) for id_ in store.client.zrangebyscore(keys.DEADLINES, "-inf", now_ms(store), start=0, num=limit)]
    own = own_keys(NOBODY)
    return sum(store.run("expire", [*task.block, *own], task.id)["ok"] for task in many(store, due))


def unhand(store: Store, task: Task, why: str) -> bool:
    """Take back a handed task whose delivery cannot come; False when it has moved on."""
    return bool(store.run("unhand", task.block, task.id, task.jobs, why)["ok"])


def forget(store: Store, ended_before_ms: int, limit: int = 200) -> int:
    """Remove ended tasks older than that; their ledger stays. Returns how many."""
    removed = 0
    for status in keys.ENDED:
        for task in many(store, ids(store, status, before_ms=ended_before_ms, limit=limit)):
            own = [
                keys.checkpoints(task.id),
                keys.attempts(task.id),
                keys.gone(task.id),
                keys.task_effects(task.id),
            ]
            removed += store.run("forget", [*task.block, *own], task.id, ended_before_ms)["ok"]
    return removed


def now_ms(store: Store) -> int:
    """The store's time, ms since 1970."""
    seconds, micros = store.client.time()
    return int(seconds) * 1000 + int(micros) // 1000


def age_ms(task: Task) -> int:
    """How long ago it was accepted, by this machine's wall clock."""
    return wall_ms() - task.created_ms
