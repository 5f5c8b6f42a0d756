"""`status`: what runs where, and how the pool says it is."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from deploy import recovery, unfinished
from deploy.containers import Container
from deploy.exits import STOPPED, Exit, meaning
from deploy.pool import Pool
from deploy.problem import KoalaSaid, PoolAway, Problem
from deploy.project import Project
from deploy.say import out, problem, table


def status(project: Project) -> Exit:
    """Print both. Ends with 7 when the pool does not answer."""
    lines = containers(project)
    if begun := unfinished.found(project):
        out(f"a restore of {begun.source} is not complete, nothing else may start: {unfinished.goes_on(begun)}")
    elif not lines:
        out("nothing runs: `make up` starts the pool")
    if not lines:
        return Exit.OK
    for line in [*lines, *doubts(project.containers()), *_hopeless(project), ""]:
        out(line)
    with project.pool(project.tag) as pool:
        try:
            out(_of_pool(pool, project.containers()))
        except (PoolAway, Problem) as error:
            problem(error)
            return Exit.STORE_AWAY
    return Exit.OK


def _hopeless(project: Project) -> list[str]:
    """What to do where no worker stays up."""
    if not recovery.is_hopeless(project):
        return []
    return [recovery.advised(project, f"no worker of koala {project.runs()} stays up")]


def _of_pool(pool: Pool, there: Sequence[Container]) -> str:
    """What the pool says, of the containers that exist: one that is gone fails to start no more. Raises PoolAway."""
    try:
        return pool.order("status", "--there", ",".join(one.id[:12] for one in there)).rstrip()
    except KoalaSaid as error:
        if error.code != Exit.USAGE:  # an earlier Koala does not know what is there
            raise
        return pool.order("status").rstrip()


def containers(project: Project) -> list[str]:
    """A table of the containers, and the data volumes; empty when there are none."""
    there = project.containers()
    if not there:
        return []
    head = ("container", "state", "image", "since", "restarts", "address")
    rows = [head, *(_row(one) for one in there)]
    return [*table(rows), "", f"data volumes: {', '.join(project.services.volumes)}"]


def _row(one: Container) -> tuple[str, ...]:
    moment = one.started if one.up else one.finished
    return (one.name, state(one), one.image, _local(moment), str(one.restarts or ""), ", ".join(one.ports))


def state(one: Container) -> str:
    """Its state in words: its health where it runs, its exit code where it ended."""
    if one.state == "running":
        return one.health or "running"
    return f"{one.state} {one.exit}" if one.state in ("exited", "restarting", "dead") else one.state


def doubts(there: Sequence[Container]) -> list[str]:
    """What ought to run and does not, and what to do."""
    tags = sorted({one.tag for one in there if one.service == "worker" and one.up})
    lines = [f"workers of {' and '.join(tags)} run: `make deploy` goes on with a roll-out"] if len(tags) > 1 else []
    for one in there:
        if one.state == "exited" and one.exit in STOPPED:
            lines.append(f"{one.name} was drained or stopped: `make resume` starts workers again, `make up` all")
        elif one.state in ("restarting", "exited", "dead"):
            lines.append(f"{one.name} ended with {meaning(one.exit)}: `make logs SERVICE={one.service}`")
        elif one.health == "unhealthy":
            lines.append(f"{one.name} is unhealthy: `make logs SERVICE={one.service}`")
    return lines


def _local(moment: str) -> str:
    """A time of Docker's in this machine's zone, to the second; empty for none."""
    if not moment or moment.startswith("0001"):
        return ""
    return datetime.fromisoformat(moment[:19] + "+00:00").astimezone().strftime("%Y-%m-%d %H:%M:%S")
