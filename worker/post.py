"""A slot's post: the class of work it stands for, what that class runs, and its seat at RQ."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

import redis

from koala import canary, keys, queue, slots
from koala.queue import Seat
from koala.store import Store
from koala.workflow import Registry
from worker.place import Place


@dataclass(frozen=True)
class Post:
    """Where a slot stands in the pool."""

    work_class: str
    registry: Registry
    seat: Seat
    on_trial: bool = False
    """The class is this slot's alone, and runs the canary alone: no other work meets what has not been tried."""

    def give_up(self, store: Store, rq: redis.Redis) -> None:
        """Leave it for good; a class of the slot's own goes with it. May be repeated."""
        self.seat.leave()
        if self.on_trial:
            slots.forget_class(store, self.work_class)
            queue.forget(rq, keys.queue(self.work_class))


def in_pool(place: Place, rq: redis.Redis) -> Post:
    """Among all slots that run the same workflows."""
    return _post(place, rq, place.registry.work_class, place.registry)


def on_trial(place: Place, rq: redis.Redis) -> Post:
    """In a class of its own."""
    return _post(place, rq, f"trial-{place.slot}", canary.known(), on_trial=True)


def _post(place: Place, rq: redis.Redis, work_class: str, registry: Registry, *, on_trial: bool = False) -> Post:
    seat = Seat(rq, keys.queue(work_class), f"{place.slot}-{secrets.token_hex(3)}")
    return Post(work_class, registry, seat, on_trial)
