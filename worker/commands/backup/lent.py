"""The lease on a profile for the time of a copy, kept as long as that takes."""

from __future__ import annotations

import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from koala import holds, leases
from koala.errors import Refused
from koala.fence import Fence
from koala.leases import Lease
from koala.store import OUTAGE
from worker.commands.desk import Desk, person


@contextmanager
def lent(desk: Desk, profile: str) -> Iterator[Fence]:
    """The fence of a new lease on the profile. Raises Refused naming who has it, or StoreAway.

    Lost in the middle it does no harm: what is copied is only read, under the profile's lock, and nobody opens it.
    """
    who = f"the backup of {person()} (pid {os.getpid()})"
    got = holds.take(desk.store, profile, who, secrets.token_hex(16), desk.terms)
    if isinstance(got, holds.Busy):
        raise Refused(f"it is in use: {got}")
    over = threading.Event()
    keeper = threading.Thread(target=_keep, args=(desk, got, over), daemon=True)
    keeper.start()
    try:
        yield Fence.parse(got.fence)
    finally:
        over.set()
        keeper.join()
        with suppress(*OUTAGE):  # then it ends by itself
            holds.drop(desk.store, got)


def _keep(desk: Desk, lease: Lease, over: threading.Event) -> None:
    held: Lease | None = lease
    while held and not over.wait(desk.settings.renew_s):
        with suppress(*OUTAGE):
            held = leases.renew(desk.store, held, desk.terms)
