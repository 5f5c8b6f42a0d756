"""Why a task waits: one closed list, used wherever a person or a program asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from koala import keys, leases, slots, switches, tasks
from koala.clock import show
from koala.span import span
from koala.store import Store
from koala.switches import Switch
from koala.tasks import Task

RESTORING_MS = 10**12
"""A hold that long has no end yet."""


class Reason(StrEnum):
    """What a task waits for. NOTHING for one that runs or has ended."""

    DUE = "due"
    PROFILE = "profile"
    CAPACITY = "capacity"
    PAUSED = "paused"
    DRAINING = "draining"
    BUDGET = "budget"
    PROVIDER = "provider"
    VERSION = "version"
    OLD_HOLDER = "old holder"
    REVIEW = "review"
    NOTHING = "—"


@dataclass(frozen=True)
class Why:
    """The reason, a sentence that names it, and how many tasks of its lane are served before this one."""

    reason: Reason
    text: str
    ahead: int = 0


@dataclass(frozen=True)
class Facts:
    """What all tasks share, as looked at once; the parts are not of one instant."""

    now_ms: int
    switches: dict[str, Switch]
    leases: dict[str, dict[str, str]]
    slots: list[dict[str, str]]
    runs: dict[str, set[str]]
    """Class of work to the kinds it runs."""
    handed: dict[str, str]
    """Profile to the task that was handed over for it."""
    leader: str
    """Who schedules; empty when nobody does."""
    hold_ms: int = 0
    """Until when no lease is given after a restore."""

    @cached_property
    def _able(self) -> dict[str, list[dict[str, str]]]:
        return {}

    def able(self, kind: str) -> list[dict[str, str]]:
        """The live slots that can run a kind."""
        if kind not in self._able:
            self._able[kind] = [slot for slot in self.slots if kind in self.runs[slot["class"]]]
        return self._able[kind]

    def drains(self, slot: dict[str, str]) -> bool:
        """Whether a slot's worker takes no more work for good."""
        return slot.get("draining") == "1" or f"worker:{slot.get('worker', '')}" in self.switches

    @cached_property
    def busy(self) -> set[str]:
        """The slots that hold a lease."""
        return {lease.get("slot", "") for lease in self.leases.values()}


def look(store: Store) -> Facts:
    """Read the facts. Blocking; redis errors pass through."""
    live = slots.alive(store)
    classes = {slot["class"]: slots.known_kinds(store, [slot]) for slot in live}
    handed = tasks.many(store, tasks.ids(store, "handed", limit=1000))
    now = tasks.now_ms(store)
    who, expires = store.client.hmget(keys.LEADER, "who", "expires_ms")
    return Facts(
        now_ms=now,
        switches=switches.all_on(store),
        leases=leases.held(store),
        slots=live,
        runs=classes,
        handed={task.profile: task.id for task in handed if task.profile},
        leader=str(who) if who and int(expires or 0) > now else "",
        hold_ms=int(store.client.get(keys.HOLD) or 0),
    )


Check = Callable[[Task, Facts], tuple[Reason, str] | None]


def _at_rest(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    """The states in which a task waits for nothing that the pool decides."""
    if task.ended:
        return Reason.NOTHING, task.reason
    if task.status == "review":
        return Reason.REVIEW, f"review {task.question} waits for a person"
    if task.status != "running":
        return None
    lease = facts.leases.get(task.resource, {})
    if lease.get("fence") != task.fence:
        return Reason.NOTHING, "its lease has ended: it is about to be started again"
    wish = f"; it ends as {task.wanted} at its next step" if task.wanted else ""
    return (
        Reason.NOTHING,
        f"it runs on slot {lease.get('slot', '?')}{wish}",
    )


def _parked(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    """What an attempt was parked for, and only the next one can find out."""
    known = task.waits in {reason.value for reason in Reason}
    return (Reason(task.waits), task.reason) if known else None


def _due(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    if task.status != "later" or task.due_ms <= facts.now_ms:
        return None
    note = f": {task.reason}" if task.reason else ""
    return Reason.DUE, f"due in {span(task.due_ms - facts.now_ms)}, at {show(task.due_ms)} UTC{note}"


def _paused(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    switch = switches.pausing(facts.switches, task.workflow, task.profile)
    if not switch:
        return None
    what = "the pool" if switch.name == switches.POOL else switch.name.replace(":", " ", 1)
    note = f": {switch.why}" if switch.why else ""
    return Reason.PAUSED, f"{what} is paused by {switch.by} since {show(switch.since_ms)} UTC{note}"


def _nobody(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    return None if facts.slots else (Reason.CAPACITY, "capacity: no worker is there, start one")


def _version(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    if facts.able(task.kind):
        return None
    return Reason.VERSION, f"version: no live worker runs {task.kind}"


def _draining(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    able = facts.able(task.kind)
    if not all(facts.drains(slot) for slot in able):
        return None
    return Reason.DRAINING, f"draining: every worker that runs {task.kind}"


def _profile(task: Task, facts: Facts) -> tuple[Reason, str] | None:
    if not task.profile:
        return None
    lease = facts.leases.get(task.resource)
    if lease:
        slot = f" on slot {lease['slot']}" if lease.get("slot") else ""  # a person's lease has none
        holder = f"task {lease['task']}" if lease.get("task") else lease.get("worker", "somebody")
        return Reason.PROFILE, f"profile {task.profile} is in use by {holder}{slot}"
    next_ = facts.handed.get(task.profile, task.id)
    if next_ != task.id:
        return Reason.PROFILE, f"profile {task.profile} is about to be taken by task {next_}"
    return None


def _capacity(task: Task, facts: Facts) -> tuple[Reason, str]:
    if facts.hold_ms > facts.now_ms + RESTORING_MS:
        return Reason.CAPACITY, "capacity: a restore was begun and not completed: run `koala restore declare`"
    if facts.hold_ms > facts.now_ms:
        return (
            Reason.CAPACITY,
            f"capacity: nothing starts for {span(facts.hold_ms - facts.now_ms)} after a restore",
        )
    if task.status == "handed":
        return Reason.CAPACITY, "capacity: a slot is about to take it"
    staying = [slot for slot in facts.able(task.kind) if not facts.drains(slot)]
    accepting = [slot["id"] for slot in staying if slot.get("accepting") == "1"]
    if not accepting:
        return Reason.CAPACITY, "capacity: no slot that can run it takes work yet"
    if all(id_ in facts.busy for id_ in accepting):
        return Reason.CAPACITY, f"capacity: every slot that can run it is busy ({len(accepting)})"
    if not facts.leader:
        return Reason.CAPACITY, "capacity: no scheduler leads, start one"
    return Reason.CAPACITY, "capacity: it is about to be handed over"


CHECKS: tuple[Check, ...] = (
    _at_rest,
    _parked,
    _due,
    _paused,
    _nobody,
    _version,
    _draining,
    _profile,
    _capacity,
)
"""In the order of what has to be mended first."""


def decide(task: Task, facts: Facts, ahead: int = 0) -> Why:
    """The first reason that holds."""
    for check in CHECKS:
        found = check(task, facts)
        if found:
            return Why(*found, ahead)
    raise AssertionError("the last check always answers")


def explain(store: Store, some: Iterable[Task], facts: Facts | None = None) -> dict[str, Why]:
    """Why each of these tasks waits, by id, with two round trips besides the shared facts; empty for none."""
    listed = list(some)
    if not listed:
        return {}
    seen = facts or look(store)
    ready = [task for task in listed if task.status == "ready"]
    pipe = store.client.pipeline(transaction=False)
    for task in ready:
        pipe.zrank(keys.lane(task.lane), task.id)
    ahead = {task.id: int(rank or 0) for task, rank in zip(ready, pipe.execute(), strict=True)}
    return {task.id: decide(task, seen, ahead.get(task.id, 0)) for task in listed}


def why(store: Store, task: Task) -> Why:
    """Why one task waits."""
    return explain(store, [task])[task.id]
