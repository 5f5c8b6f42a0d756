"""Which workers leave when the pool gets smaller. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from deploy.containers import Container
from deploy.plan import Member
from deploy.pool import Sight

IDLE_WEIGHT = 1
BUSY_WEIGHT = 1000


def weight(container: Container, sight: Sight) -> int:
    """What the end of a worker or scheduler would disturb: nothing where it does not run, little where it is idle."""
    if not container.up:
        return 0
    if container.service == "scheduler":
        return BUSY_WEIGHT if container.hosts(sight.leader) else IDLE_WEIGHT
    return IDLE_WEIGHT + BUSY_WEIGHT * sum(slot.busy for slot in sight.of(container))


def leaving(container: Container, sight: Sight) -> bool:
    """Whether the worker in it drains: it takes no more work for good."""
    slots = sight.of(container)
    return bool(slots) and all(slot.draining for slot in slots)


def proven(container: Container, sight: Sight) -> bool:
    """Whether each of its slots is there and off its trial."""
    there = sight.of(container)
    return container.ready and len(there) >= container.slots and not any(slot.trial for slot in there)


def members(containers: Sequence[Container], sight: Sight, image: str) -> list[Member]:
    """The containers as the planner sees them."""
    return [
        Member(one.id, one.image == image, one.up, one.up and leaving(one, sight), weight(one, sight))
        for one in containers
    ]


def to_leave(containers: Sequence[Container], sight: Sight, keep: int) -> list[Container]:
    """Those that go so that `keep` are left: what does not run, then idle ones, then the least busy, newest first."""
    order = sorted(containers, key=lambda one: (weight(one, sight), not leaving(one, sight), -one.number))
    return order[: max(0, len(containers) - keep)]
