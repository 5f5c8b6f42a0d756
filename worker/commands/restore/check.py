"""Whether anybody who could still act on this machine is left: every lock of a child, driver or browser is free."""

from __future__ import annotations

from koala.cli.output import say
from koala.errors import Refused
from koala.exits import Exit
from worker import locks
from worker.volume import Volume


def check(where: Volume) -> Exit:
    """Say that all are free. Raises Refused naming whoever is left."""
    refuse_living(where)
    say("nobody holds a lock of this data volume")
    return Exit.OK


def refuse_living(where: Volume) -> None:
    """Raise Refused when a lock is held, or its file says nothing."""
    found = [_told(name, one) for name, one in locks.still_there(where)]
    if found:
        raise Refused(f"somebody who could still act is left: {'; '.join(found[:5])}. Stop all workers, end what stays")


def _told(name: str, found: locks.Alive | locks.Unproved) -> str:
    if isinstance(found, locks.Unproved):
        return found.reason
    return f"{name} is held by {found.holder or 'a process that has not named itself'}"
