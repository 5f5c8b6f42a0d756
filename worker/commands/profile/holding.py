"""A profile in this command's hands: its lease, renewed for as long as the work takes, and given back."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from typing import Any, TypeVar

from koala import holds, leases
from koala.clock import boottime
from koala.errors import Refused
from koala.fence import Fence
from koala.leases import Lease
from koala.store import OUTAGE
from worker import processes
from worker.commands.desk import Desk, person
from worker.watchdog import Watchdog

T = TypeVar("T")

LEAD_S = 1.0
"""How long before the watchdog the command ends by itself, so that it can say why; less with very short leases."""


class Holding:
    """The lease at hand. `forget` gives it back together with the record of a profile that was deleted."""

    def __init__(self, desk: Desk, profile: str, lease: Lease) -> None:
        self._desk = desk
        self._profile = profile
        self._lease = lease
        self._watchdog = Watchdog(os.getppid(), list)
        self._watchdog.trusted_until = lease.trusted_until
        self._watchdog.start()
        self.forget = False

    @property
    def fence(self) -> Fence:
        """Of this lease; every lock of the profile is taken under it."""
        return Fence.parse(self._lease.fence)

    async def work(self, doing: Coroutine[Any, Any, T]) -> T:
        """Do it while the lease can be trusted; cancelled, and Refused raised, when it cannot any more."""
        work = asyncio.ensure_future(doing)
        renewal = asyncio.ensure_future(self._renew())
        try:
            await asyncio.wait({work, renewal}, return_when=asyncio.FIRST_COMPLETED)
            if work.done():
                return work.result()
            if not await asyncio.to_thread(processes.end_below, processes.this(), LEAD_S):
                self._watchdog.trusted_until = 0.0  # nothing is left that could act
            raise Refused(f"the lease on profile {self._profile} was lost: {renewal.result()}. Try again")
        finally:
            for task in (renewal, work):
                task.cancel()
            await asyncio.gather(work, renewal, return_exceptions=True)

    async def _renew(self) -> str:
        """Keep the lease; returns why it has ended."""
        lead = min(LEAD_S, self._desk.settings.renew_s / 2)
        while True:
            await asyncio.sleep(self._desk.settings.renew_s)
            try:
                async with asyncio.timeout(self._lease.trusted_until - lead - boottime()):
                    renewed = await self._renewed()
            except TimeoutError:
                return "the store was away for too long"
            if renewed is None:
                return "somebody else has it now"
            self._lease = renewed
            self._watchdog.trusted_until = renewed.trusted_until

    async def _renewed(self) -> Lease | None:
        """Ask until the store answers."""
        while True:
            with suppress(*OUTAGE):
                return await asyncio.to_thread(leases.renew, self._desk.store, self._lease, self._desk.terms)
            await asyncio.sleep(0.1)

    def drop(self) -> None:
        """Give the lease back. When the store is away it ends by itself."""
        self._watchdog.trusted_until = 0.0
        with suppress(*OUTAGE):
            holds.drop(self._desk.store, self._lease, forget=self._profile if self.forget else "")


@asynccontextmanager
async def holding(desk: Desk, profile: str, doing: str) -> AsyncIterator[Holding]:
    """The profile's lease for what `doing` says. Raises Refused naming who has it, or StoreAway."""
    processes.set_child_subreaper()
    who = f"`koala profile {doing}` of {person()} (pid {os.getpid()})"
    got = await asyncio.to_thread(holds.take, desk.store, profile, who, secrets.token_hex(16), desk.terms)
    if isinstance(got, holds.Busy):
        raise Refused(
            f"profile {profile} is in use: {got}. Wait until it is free; "
            f"`koala pause --profile {profile}` keeps the next task from taking it"
        )
    held = Holding(desk, profile, got)
    try:
        yield held
    finally:
        held.drop()
