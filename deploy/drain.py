"""`drain` and `resume`: workers finish what they have and end; and come back."""

from __future__ import annotations

from deploy import health, interrupt, leave
from deploy.containers import Container, named
from deploy.exits import STOPPED, Exit
from deploy.pool import Pool, Sight
from deploy.problem import KoalaSaid, PoolAway, Problem
from deploy.project import Project
from deploy.say import Progress, out
from deploy.services import WORKER

STAYS = "stops waiting: the workers go on draining and end; `make resume` brings them back. Once more: at once"
PACE_S = 1.0


def drain(project: Project, worker: str) -> Exit:
    """Let all workers end, or one, by its name or its container's; containers stay. Raises Problem, Interrupted."""
    there = [one for one in project.workers if one.up]
    with project.pool(project.tag) as pool, interrupt.meaning(STAYS):
        chosen = [_named(there, worker)] if worker else there
        if not chosen:
            out("no worker runs")
            return Exit.OK
        leaving = leave.Leaving(project, pool, chosen, project.soft_s)
        leaving.wait()
    ended = [one for one in project.workers if one.id in {chosen_.id for chosen_ in chosen}]
    bad = [one for one in ended if one.exit not in STOPPED]
    out(f"drained: {named(chosen)}. `make resume` brings back what was drained")
    if bad:
        raise Problem(f"did not end well: {named(bad)}", "`make logs SERVICE=worker` says why")
    return Exit.OK


def _named(there: list[Container], name: str) -> Container:
    """The running worker that a person means. Raises Problem."""
    for one in there:
        if name in (one.name, one.id[:12], str(one.number)) or one.hosts(name):
            return one
    raise Problem(f"no running worker {name!r} (there: {named(there)})", "`make status` lists them", Exit.NOT_FOUND)


def resume(project: Project) -> Exit:
    """Take drains back where that is still possible, and start what has ended. Raises Problem, Interrupted."""
    project.refuse_when_down()
    with project.pool(project.tag) as pool:
        _take_back(project, pool)
    wanted = max(project.services.replicas(WORKER), len(project.workers))
    project.compose(project.tag).more(WORKER, wanted)
    health.wait(lambda: project.workers, project.settings.healthy_s)
    out(f"{wanted} worker{'s take' if wanted != 1 else ' takes'} work")
    return Exit.OK


def _take_back(project: Project, pool: Pool) -> None:
    """A worker that has begun to end is waited for: it is started again then."""
    progress = Progress()
    while True:
        try:
            sight = pool.sight()
        except PoolAway:
            return
        left = [one for one in project.workers if one.up and _drains(one, sight)]
        for one in left:
            for worker in sight.workers(one):
                _end_drain(pool, worker)
        if not left:
            return
        progress(f"waits for {named(left)} to end or to take work again")
        interrupt.sleep(PACE_S)


def _drains(one: Container, sight: Sight) -> bool:
    return any(slot.draining for slot in sight.of(one))


def _end_drain(pool: Pool, worker: str) -> None:
    try:
        pool.order("resume", "--worker", worker)
    except KoalaSaid as error:
        if error.code != Exit.NOT_FOUND:
            raise
