"""Waiting until new containers are healthy, and seeing that they stay so."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from deploy import interrupt
from deploy.containers import Container, named
from deploy.exits import PERMANENT, meaning
from deploy.problem import Problem
from deploy.say import Progress

Look = Callable[[], Sequence[Container]]
PACE_S = 1.0
RESTARTS = 2
"""A new container that was restarted this often does not start; once may be chance."""


class Rejected(Problem):
    """The new image does not do: the roll-out goes back."""


def fault(some: Sequence[Container]) -> str:
    """Why one of them will not become healthy, or has stopped being it; empty when nothing says so."""
    for one in some:
        if not one.up and one.state != "created":
            return f"{one.name} ended with {meaning(one.exit)}"
        if one.exit in PERMANENT and one.state == "restarting":
            return f"{one.name} ends with {meaning(one.exit)}"
        if one.restarts >= RESTARTS:
            last = f", it last ended with {meaning(one.exit)}" if one.exit else ""
            return f"{one.name} does not stay up: restarted {one.restarts} times{last}"
    return ""


def wait(look: Look, seconds: float) -> None:
    """Until all are healthy. Raises Rejected when one never will be or the time is over, Interrupted."""
    end, progress = time.monotonic() + seconds, Progress()
    while True:
        some = look()
        if why := fault(some):
            raise Rejected(why)
        waiting = [one for one in some if not one.ready]
        if not waiting:
            return
        progress(f"waits for the health of {named(waiting)}")
        if time.monotonic() >= end:
            raise Rejected(f"{named(waiting)} not healthy within {seconds:.0f} s")
        interrupt.sleep(PACE_S)
