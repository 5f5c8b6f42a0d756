"""Who leaves, who is proven, who is new: from what the engine and the pool say."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from deploy import choose, health, pool
from deploy.containers import Container, parse
from deploy.plan import Member
from deploy.pool import Sight, Slot

ID = "0123456789abcdef"


def _container(number: int, **facts: Any) -> Container:
    made = Container(
        id=f"{number}{ID}", name=f"koala-worker-{number}", service="worker", number=number, image="koala:old",
        image_id="", config="", state="running", health="healthy", exit=0, restarts=0, started="", finished="", slots=1,
    )  # fmt: skip
    return replace(made, **facts)


def _slot(container: Container, **facts: Any) -> Slot:
    worker = f"{container.id[:12]}-a1b2c3"
    return replace(Slot(f"{worker}-0", worker, busy=False, draining=False, trial=False), **facts)


def test_idle_workers_leave_before_busy_ones_and_the_newest_of_them_first() -> None:
    one, two, three = map(_container, (1, 2, 3))
    sight = Sight((_slot(one), _slot(two, busy=True), _slot(three)))
    assert choose.to_leave([one, two, three], sight, 1) == [three, one]


def test_what_does_not_run_leaves_first_of_all() -> None:
    one, two = _container(1, state="exited"), _container(2)
    assert choose.to_leave([one, two], Sight((_slot(two),)), 1) == [one]


def test_the_one_that_drains_already_leaves_before_one_that_works_on() -> None:
    one, two = _container(1), _container(2)
    assert choose.to_leave([one, two], Sight((_slot(one, draining=True), _slot(two))), 1) == [one]


def test_nobody_leaves_when_all_are_kept() -> None:
    assert choose.to_leave([_container(1)], Sight(), 3) == []


def test_the_standby_scheduler_leaves_before_the_one_that_leads() -> None:
    one, two = _container(1, service="scheduler"), _container(2, service="scheduler")
    sight = Sight(leader=f"{one.id[:12]}-7-a1b2c3")
    assert choose.weight(one, sight) > choose.weight(two, sight)


@pytest.mark.parametrize(
    ("container", "slots", "proven"),
    [
        ({}, [{}], True),
        ({}, [{"trial": True}], False),
        ({}, [], False),
        ({"slots": 2}, [{}], False),
        ({"health": "starting"}, [{}], False),
    ],
)
def test_a_worker_is_proven_when_each_slot_is_there_and_off_its_trial(
    container: dict[str, Any], slots: list[dict[str, Any]], proven: bool
) -> None:
    one = _container(1, **container)
    assert choose.proven(one, Sight(tuple(_slot(one, **facts) for facts in slots))) == proven


def test_the_planner_sees_containers_by_their_image_state_and_drain() -> None:
    old, new, dead = _container(1), _container(2, image="koala:new"), _container(3, state="exited")
    seen = choose.members([old, new, dead], Sight((_slot(old, draining=True), _slot(new))), "koala:new")
    assert seen == [
        Member(old.id, new=False, leaving=True, weight=1),
        Member(new.id, new=True, weight=1),
        Member(dead.id, new=False, up=False),
    ]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({}, ""),
        ({"state": "created"}, ""),
        ({"health": "starting", "restarts": 1}, ""),
        ({"state": "exited", "exit": 69}, "ended with 69, no usable browser"),
        ({"state": "restarting", "exit": 67, "restarts": 0}, "ends with 67"),
        ({"restarts": 2}, "does not stay up: restarted 2 times"),
        ({"state": "restarting", "exit": 1, "restarts": 2}, "it last ended with 1"),
    ],
)
def test_one_crash_of_a_new_container_may_be_chance_a_permanent_reason_is_not(facts: dict[str, Any], said: str) -> None:
    why = health.fault([_container(1, **facts)])
    assert (said in why) if said else why == ""


INSPECTED = {
    "Id": ID * 4,
    "Name": "/koala-worker-3",
    "Image": "sha256:1",
    "RestartCount": 2,
    "State": {
        "Status": "running",
        "ExitCode": 0,
        "StartedAt": "2026-01-02T03:04:05.6Z",
        "Health": {"Status": "healthy"},
    },
    "Config": {
        "Image": "registry.example:5000/koala:20260102-030405",
        "Env": ["KOALA_SLOTS=3", "PATH=/bin"],
        "Labels": {"com.docker.compose.service": "worker", "com.docker.compose.container-number": "3"},
    },
    "NetworkSettings": {"Ports": {"9090/tcp": [{"HostIp": "127.0.0.1", "HostPort": "9090"}], "1/tcp": None}},
}


def test_a_container_is_read_from_what_the_engine_says() -> None:
    one = parse(INSPECTED)
    assert (one.name, one.number, one.tag, one.slots, one.restarts) == ("koala-worker-3", 3, "20260102-030405", 3, 2)
    assert (one.ready, one.up, one.ports) == (True, True, ("127.0.0.1:9090",))
    assert one.hosts(f"{ID[:12]}-a1b2c3")
    assert not one.hosts(f"{ID[:11]}-a1b2c3")


def test_the_pool_is_read_from_what_koala_status_says() -> None:
    seat = {"slot": "w-0", "worker": "w", "state": "busy", "draining": False, "task": "t", "since_ms": 5}
    told = {
        "slots": [{**seat, "facts": {"trial": "1", "image": "new"}}],
        "counts": {"new": {"attempts": {"shop.order": {"done": 4}}, "crashes": {"tab": 1}, "ended": {}}},
        "scheduler": None,
        "waiting": {"capacity": 2, "due": 1},
    }
    seen = pool.parse(told)
    assert seen.slots == (Slot("w-0", "w", busy=True, draining=False, trial=True, task="t", since_ms=5, image="new"),)
    assert seen.counts == {"new": {"attempt|shop.order|done": 4, "crash|tab": 1}}
    assert (seen.leader, seen.waiting) == ("", 3)
