"""`profile delete`: a profile and its logins, gone for good."""

from __future__ import annotations

import asyncio

from koala.cli.output import say
from koala.errors import InvalidArguments, Refused
from koala.exits import Exit
from worker import locks, profiles
from worker.commands.desk import Desk
from worker.commands.profile.holding import Holding, holding
from worker.locks import LockHeld
from worker.profiles import ProfileDirectory


async def delete(desk: Desk, name: str, *, yes: bool) -> Exit:
    """Delete it under its lease and lock. Raises InvalidArguments without `yes`, NotFound, Refused while it is used."""
    directory = profiles.ProfileDirectory(desk.volume, name)
    if not directory.path.exists():
        profiles.find(desk.volume, name)
    if not yes:
        raise InvalidArguments(f"this deletes profile {name} with its logins, for good: add --yes")
    async with holding(desk, name, f"delete {name}") as held:
        await held.work(asyncio.to_thread(_delete, directory, held))
        held.forget = True
    say(f"profile {name} is deleted")
    return Exit.OK


def _delete(directory: ProfileDirectory, held: Holding) -> None:
    locks.create(directory.volume, directory.lock)
    try:
        with locks.take(directory.volume, directory.lock, "deleting", held.fence) as lock:
            directory.delete(lock)
    except LockHeld as error:
        raise Refused(
            f"a browser still has the profile: {error}. "
            f'`koala profile unlock {directory.name} --because "…"` shows it, and ends it'
        ) from None
