"""`scale`: more workers at once; fewer by draining chosen ones, idle ones first."""

from __future__ import annotations

from deploy import choose, health, leave, memory
from deploy.containers import named
from deploy.exits import Exit
from deploy.interrupt import meaning
from deploy.project import Project
from deploy.say import out, say
from deploy.services import WORKER

STAYS = "stops waiting: the workers that were told to leave go on draining; give the command again to remove them"


def scale(project: Project, number: int) -> Exit:
    """Have so many workers; kept in `.env` for every later command. Cuts nothing. Raises Problem, Interrupted."""
    project.refuse_when_down()
    memory.refuse(project, number)
    with meaning(STAYS):
        _fewer(project, number)
    if number:
        _more(project, number)
    project.keep({"KOALA_WORKERS": str(number)})
    out(f"{number} workers run" if number != 1 else "1 worker runs")
    return Exit.OK


def _fewer(project: Project, number: int) -> None:
    there = project.workers
    if len(there) <= number and all(one.up for one in there):
        return
    with project.pool(project.tag) as pool:
        sight = pool.sight()
        ended = [one for one in there if not one.up]
        draining = [one for one in there if one.up and choose.leaving(one, sight)]
        chosen = {one.id: one for one in (*ended, *draining, *choose.to_leave(there, sight, number))}
        say(f"lets {named(chosen.values())} end")
        leave.all_of(project, pool, list(chosen.values()))


def _more(project: Project, number: int) -> None:
    if len(project.workers) >= number:
        return
    if doubt := memory.doubt(project, number):
        say(doubt)
    project.compose(project.tag).more(WORKER, number)
    health.wait(lambda: project.workers, project.settings.healthy_s)
