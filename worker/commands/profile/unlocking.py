"""`profile unlock`: ends the old browser that keeps a profile, and says for its attempt that it is gone.

It never takes a lock away from a living process: it ends the process, where that is in sight, and the kernel frees the
lock. An attempt on another machine is a person's word.
"""

from __future__ import annotations

from dataclasses import dataclass

from koala import keys, leases, ledger, tasks
from koala.cli.output import say
from koala.errors import InvalidArguments, Refused
from koala.exits import Exit
from koala.fence import Fence
from koala.store import Store
from koala.tasks import Task
from worker import locks, processes, profiles
from worker.commands.desk import Desk, person
from worker.commands.profile.occupant import Occupant, in_sight, occupant
from worker.processes import Process
from worker.profiles import ProfileDirectory


@dataclass(frozen=True)
class Waiting:
    """A task that waits for the word that an earlier attempt of its is gone."""

    task: Task
    fence: str


def unlock(desk: Desk, name: str, because: str, *, yes: bool) -> Exit:
    """End what keeps the profile. Raises NotFound, InvalidArguments, and Refused with what has to be done first."""
    directory = profiles.find(desk.volume, name)
    if not because.strip():
        raise InvalidArguments("--because must say how you know that its attempt is gone")
    found = occupant(directory)
    _refuse_current(desk.store, name, found)
    if found:
        say(f"profile {name} is held by {found} {found.command}".rstrip())
        _end(desk, found, directory, yes)
        say("it is ended; the profile is free")
    else:
        say(f"nobody holds the lock of profile {name}")
    _report(desk, name, because)
    return Exit.OK


def _refuse_current(store: Store, name: str, found: Occupant | None) -> None:
    """An unexpired lease says that its holder lives and works."""
    lease = leases.held(store).get(keys.resource("", name))
    if lease and (found is None or str(found.holder.fence) == lease["fence"]):
        user = f"task {lease['task']}" if lease.get("task") else lease.get("worker", "")
        raise Refused(f"profile {name} is in use by {user}, which holds its lease: that is no old holder")


def _end(desk: Desk, found: Occupant, directory: ProfileDirectory, yes: bool) -> None:
    if found.process is None:
        raise Refused(
            f"the process is out of sight from here (machine {found.holder.machine[:8]}, pid namespace "
            f"{found.holder.pid_namespace}): end it where it runs, then the lock is free by itself"
        )
    if not yes:
        raise Refused("add --yes to end that process and what belongs to its attempt")
    own_session = [found.process.pid] if found.holder.session == found.process.pid else []
    left = processes.end_tree(_attempt(desk, directory, found.process, found.holder.fence), sessions=own_session)
    if left or occupant(directory):
        raise Refused(f"processes {[process.pid for process in left]} cannot be ended: look what they hang in")


def _attempt(desk: Desk, directory: ProfileDirectory, browser: Process, fence: Fence) -> list[Process]:
    """The browser, and child and driver of its attempt where they live too: they would only be in the way."""
    opened = [
        sent
        for waiting in _waiting(desk.store, directory.name)
        for sent in ledger.open_of_task(desk.store, waiting.task.id).values()
        if sent["fence"] == str(fence)
    ]
    named = [sent[role] for sent in opened for role in ("k", "d") if sent.get(role)]
    paths = [locks.child_path(desk.volume, fence), *(desk.volume.locks / name for name in named)]
    found = [locks.prove_gone(desk.volume, path) for path in dict.fromkeys(paths)]
    holders = [lock.holder for lock in found if isinstance(lock, locks.Alive) and lock.holder]
    return [browser, *(process for holder in holders if (process := in_sight(holder)))]


def _report(desk: Desk, name: str, because: str) -> None:
    """Say that the attempts are gone whose effects wait for that. Living ones here are left alone."""
    for waiting in _waiting(desk.store, name):
        if _alive_here(desk, waiting):
            say(f"attempt {waiting.fence} of task {waiting.task.id} still lives here and is not reported gone")
        elif leases.gone(desk.store, waiting.task.id, waiting.fence, person(), because):
            say(f"attempt {waiting.fence} of task {waiting.task.id} is reported gone: its effect can be settled")


def _waiting(store: Store, name: str) -> list[Waiting]:
    """Open effects on this profile whose attempt is over by its lease and not reported gone."""
    resting = [status for status in keys.STATUSES if status not in keys.ENDED and status != "running"]
    some = [task for status in resting for task in tasks.many(store, tasks.ids(store, status, limit=10_000))]
    return [
        Waiting(task, sent["fence"])
        for task in some
        if task.profile == name
        for sent in ledger.open_of_task(store, task.id).values()
        if not leases.gone_report(store, task.id, sent["fence"])
    ]


def _alive_here(desk: Desk, waiting: Waiting) -> bool:
    for sent in ledger.open_of_task(desk.store, waiting.task.id).values():
        names = [sent.get(role) for role in ("k", "d", "b") if sent["fence"] == waiting.fence]
        for path in (desk.volume.locks / lock for lock in names if lock):
            found = locks.prove_gone(desk.volume, path)
            if isinstance(found, locks.Alive) and _of(found, waiting.fence):
                return True
    return False


def _of(found: locks.Alive, fence: str) -> bool:
    """Whether the lock's holder may be of that attempt: a later one holds the profile's lock in its own right."""
    return found.holder is None or found.holder.fence <= Fence.parse(fence)
