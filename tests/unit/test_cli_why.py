"""The closed list of reasons for which a task waits, and which of them is told first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from koala.switches import Switch
from koala.tasks import Task
from koala.why import Facts, Reason, decide

NOW = 1_000_000
TASK = Task("t1", "shop", 1, "", "{}", "ready", "shop@1|")
RUNNING = replace(TASK, status="running", fence="1.1")
ANNAS = replace(TASK, profile="anna")
SLOT = {"id": "s1", "worker": "w1", "class": "c", "accepting": "1"}
IDLE = Facts(NOW, {}, {}, [SLOT], {"c": {"shop@1"}}, {}, leader="scheduler-1")
HELD = {"fence": "1.1", "task": "t0", "slot": "s1", "worker": "w1"}


def on(*names: str) -> dict[str, Switch]:
    return {name: Switch(name, "ann", "closed", NOW) for name in names}


def reason(task: Task, facts: Facts = IDLE) -> str:
    return str(decide(task, facts).reason)


@pytest.mark.parametrize(
    ("task", "facts", "expected", "text"),
    [
        (replace(TASK, status="later", due_ms=NOW + 90_000), IDLE, "due", "due in 1 min 30 s"),
        (ANNAS, replace(IDLE, leases={"profile:anna": HELD}), "profile", "in use by task t0 on slot s1"),
        (ANNAS, replace(IDLE, handed={"anna": "t0"}), "profile", "about to be taken by task t0"),
        (TASK, replace(IDLE, leases={"task:t0": HELD}), "capacity", "every slot that can run it is busy"),
        (TASK, replace(IDLE, slots=[], runs={}), "capacity", "no worker is there"),
        (TASK, replace(IDLE, slots=[{**SLOT, "accepting": "0"}]), "capacity", "takes work yet"),
        (TASK, replace(IDLE, leader=""), "capacity", "no scheduler leads"),
        (TASK, replace(IDLE, hold_ms=NOW + 5000), "capacity", "after a restore"),
        (TASK, IDLE, "capacity", "about to be handed over"),
        (replace(TASK, status="handed"), IDLE, "capacity", "a slot is about to take it"),
        (TASK, replace(IDLE, switches=on("pool")), "paused", "the pool is paused by ann"),
        (TASK, replace(IDLE, switches=on("workflow:shop")), "paused", "workflow shop is paused by ann"),
        (ANNAS, replace(IDLE, switches=on("profile:anna")), "paused", "profile anna is paused by ann"),
        (replace(TASK, status="handed"), replace(IDLE, switches=on("pool")), "paused", "closed"),
        (TASK, replace(IDLE, switches=on("worker:w1")), "draining", "every worker that runs shop@1"),
        (TASK, replace(IDLE, slots=[{**SLOT, "draining": "1"}]), "draining", "every worker"),
        (replace(TASK, version=2), IDLE, "version", "no live worker runs shop@2"),
        (replace(TASK, waits="old holder", reason="old holder alive: pid 7"), IDLE, "old holder", "pid 7"),
        (replace(TASK, status="later", waits="old holder", reason="old holder alive"), IDLE, "old holder", "alive"),
        (replace(TASK, waits="budget", reason="budget of the pool is spent"), IDLE, "budget", "is spent"),
        (replace(TASK, waits="provider", reason="provider does not answer"), IDLE, "provider", "does not answer"),
        (replace(TASK, status="review", question="1-1"), IDLE, "review", "review 1-1 waits for a person"),
        (replace(TASK, status="done", reason="ok"), IDLE, "—", "ok"),
        (replace(TASK, status="running"), IDLE, "—", "its lease has ended"),
        (RUNNING, replace(IDLE, leases={"task:t1": HELD}), "—", "slot s1"),
    ],
)  # fmt: skip
def test_each_reason_is_found_and_told(task: Task, facts: Facts, expected: str, text: str) -> None:
    found = decide(task, facts)
    assert (str(found.reason), text in found.text) == (expected, True), found


def test_every_reason_of_the_list_is_one_that_a_task_can_have() -> None:
    assert [str(item) for item in Reason] == [
        "due", "profile", "capacity", "paused", "draining", "budget", "provider", "version", "old holder",
        "review", "—",
    ]  # fmt: skip


def test_what_a_person_has_to_mend_is_told_before_what_mends_itself() -> None:
    busy = replace(IDLE, leases={"profile:anna": HELD}, switches=on("pool", "worker:w1"))
    assert reason(ANNAS, busy) == "paused"
    assert reason(ANNAS, replace(busy, switches=on("worker:w1"))) == "draining"
    assert reason(replace(ANNAS, version=9), replace(busy, switches={})) == "version"
    assert reason(ANNAS, replace(busy, switches={})) == "profile"


def test_another_profiles_lease_or_switch_holds_nobody_else() -> None:
    other = replace(IDLE, leases={"profile:bob": {**HELD, "slot": "s9"}}, switches=on("profile:bob"))
    assert decide(ANNAS, other).text == "capacity: it is about to be handed over"


def test_a_slot_that_cannot_run_it_is_no_capacity_and_no_drain() -> None:
    both = [SLOT, {**SLOT, "id": "s2", "worker": "w2", "class": "other"}]
    facts = replace(IDLE, slots=both, runs={"c": {"shop@1"}, "other": {"news@1"}}, switches=on("worker:w1"))
    assert reason(TASK, facts) == "draining"


def test_a_profile_held_by_a_person_is_told_without_a_task() -> None:
    login = {"fence": "1.2", "task": "", "worker": "login by ann", "slot": "laptop"}
    found = decide(ANNAS, replace(IDLE, leases={"profile:anna": login}))
    assert "in use by login by ann" in found.text
