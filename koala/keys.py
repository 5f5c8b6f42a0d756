"""Every key of the store. Keys begin with `koala:` and their kind; users' text comes last.

The hand-over script alone builds record keys itself, from `TASK`, `LANE`, `SLOT` and `CLASS`; every other script is
given each key it touches.
"""

from __future__ import annotations

STATUSES = ("later", "ready", "handed", "running", "review", "done", "failed", "cancelled", "dead", "expired")
"""All task states, in the order in which scripts are given their indexes."""

ENDED = frozenset(STATUSES[5:])

TASK = "koala:task:"
LANE = "koala:lane:"
SLOT = "koala:slot:"
CLASS = "koala:class:"

SCHEMA = "koala:schema"
EPOCH = "koala:epoch"
FENCE = "koala:fence"
HOLD = "koala:hold-until"
LANES = "koala:lanes"
CURSOR = "koala:lanes:cursor"
LEASES = "koala:leases"
SLOTS = "koala:slots"
DEADLINES = "koala:deadlines"
QUESTIONS = "koala:questions"
ASKED = "koala:questions:open"
SWITCHES = "koala:switches"
EFFECTS = "koala:effects"
PROFILES = "koala:profiles"
LEADER = "koala:leader"
STARTS = "koala:starts"
RESTORED = "koala:restored"
TTL_MOST = "koala:ttl-most"
COUNTED = "koala:counted"
TRIED = "koala:tried"
SCHEDULES = "koala:schedules"
SCHEDULES_DUE = "koala:schedules:due"
SCHEDULES_COUNTS = "koala:schedules:counts"
SCHEDULES_PUT_OFF = "koala:schedules:put-off"


def task(id: str) -> str:
    """The task record, a hash."""
    return TASK + id


def timeline(task_id: str) -> str:
    """What happened to a task, a stream."""
    return "koala:timeline:" + task_id


def checkpoints(task_id: str) -> str:
    """Stored step results of a task, a hash of step to JSON."""
    return "koala:checkpoints:" + task_id


def attempts(task_id: str) -> str:
    """A task's attempts, a hash of fence to JSON."""
    return "koala:attempts:" + task_id


def gone(task_id: str) -> str:
    """The write-once reports that an attempt's processes are gone, a hash of fence to JSON."""
    return "koala:gone:" + task_id


def open_effects(task_id: str) -> str:
    """A task's effects that are `sent`, a hash of operation id to JSON."""
    return "koala:open:" + task_id


def task_effects(task_id: str) -> str:
    """All operation ids of a task, a set."""
    return "koala:task-effects:" + task_id


def effect(operation: str) -> str:
    """One ledger record, a hash. The operation id is workflow/effect/key."""
    return "koala:effect:" + operation


def index(status: str) -> str:
    """Task ids in a status, a sorted set; the score is the time of entering it (of `later` the due time), ms."""
    return "koala:tasks:" + status


def dedupe(key: str) -> str:
    """The task that was first submitted with a dedupe key."""
    return "koala:dedupe:" + key


def slot(id: str) -> str:
    """One slot's last heartbeat, a hash."""
    return SLOT + id


def work_class(hash: str) -> str:
    """What a class of workers can run, a set of `workflow@version`."""
    return CLASS + hash


def lane_id(workflow: str, version: int, profile: str) -> str:
    """Tasks of one lane are alike in all that gates them."""
    return f"{workflow}@{version}|{profile}"


def lane(id: str) -> str:
    """Ready tasks of one lane, a sorted set by priority and age."""
    return LANE + id


def resource(task_id: str, profile: str) -> str:
    """What a lease is on: the profile, or the task itself where it has none."""
    return f"profile:{profile}" if profile else f"task:{task_id}"


def lease(resource: str) -> str:
    """One lease, a hash."""
    return "koala:lease:" + resource


def counts(image: str) -> str:
    """What one image has done, a hash of counters. `COUNTED` has all such keys, by when they were last raised."""
    return "koala:counts:" + image


def schedule(name: str) -> str:
    """A schedule's record, a hash. `SCHEDULES` has all by status, `SCHEDULES_DUE` those to be looked at, by when; what
    could not be decided about then is in `SCHEDULES_PUT_OFF` too, by when it should have been."""
    return "koala:schedule:" + name


def schedule_history(name: str) -> str:
    """What became of its occurrences, a stream."""
    return "koala:schedule-history:" + name


def queue(work_class: str) -> str:
    """The RQ queue of a class of work."""
    return f"koala-{work_class}"


def block(task_id: str, lane_: str) -> list[str]:
    """The keys every script that moves a task is given first; `lua/common.lua` lists them."""
    return [
        task(task_id),
        timeline(task_id),
        lane(lane_),
        LANES,
        open_effects(task_id),
        DEADLINES,
        QUESTIONS,
        ASKED,
        EPOCH,
        *map(index, STATUSES),
    ]
