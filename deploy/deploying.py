"""`rollout` from the command line: which image, from which, and whether there is anything to do."""

from __future__ import annotations

from deploy import memory, passwords, recovery, release
from deploy.exits import Exit
from deploy.problem import Problem
from deploy.project import Project
from deploy.release import Release
from deploy.rollout import Rollout
from deploy.say import out, say
from deploy.services import WORKER

PLANNED = "(what is built)"


def rollout(project: Project, tag: str) -> Exit:
    """Build, or take the image with that tag, and roll it out. Raises Problem, Interrupted."""
    _refuse_without_pool(project)
    old = _old(project, tag)
    found = release.existing(project, tag) if tag else release.build(project, [WORKER])
    new = _new(project, found)
    if not new:
        out(f"koala {found.tag} runs already, with these settings: nothing to do")
        return Exit.OK
    passwords.make(project, old)
    with project.pool(_asked(project, old, new)) as pool:
        rolling = Rollout(project, pool, new, _other(project, old, new))
        for line in rolling.described():
            say(line)
        if doubt := memory.doubt(project, rolling.most):
            say(doubt)
        ended = rolling.run()
    release.tidy(project)
    return ended


def planned(project: Project, tag: str) -> Exit:
    """Print the plan; nothing is built or changed."""
    _refuse_without_pool(project)
    old = _old(project, tag)
    with project.pool(old) as pool:
        for line in Rollout(project, pool, tag or project.settings.tag or PLANNED, old).described():
            out(line)
    return Exit.OK


def back(project: Project) -> Exit:
    """Back to what ran before: from a roll-out that was stopped, or from one that went through."""
    _refuse_without_pool(project)
    to, of = recovery.way_back(project)
    if not to or project.image(to) is None:
        raise Problem(f"there is no image to go back to ({to or 'none is recorded'})", "`make deploy` brings a new one")
    with project.pool(to) as pool:
        ended = Rollout(project, pool, of, to).back()
    return Exit.OK if ended == Exit.ROLLED_BACK else ended  # it was asked for


def _refuse_without_pool(project: Project) -> None:
    if not any(one.up for one in project.containers("redis")):
        raise Problem("the pool does not run", "`make up` starts it, with what is built now", Exit.REFUSED)


def _old(project: Project, tag: str) -> str:
    """The image to go back to: of the running workers' the one that is recorded, else one that is not wanted.

    Where none of them stays up, an earlier one that is here.
    """
    to, _ = recovery.way_back(project)
    if to and recovery.is_hopeless(project) and project.image(to):
        return to
    runs = [one.tag for one in project.workers if one.up]
    if project.recorded in runs or not runs:
        return project.recorded
    return next((one for one in runs if one != tag), runs[0])


def _asked(project: Project, old: str, new: str) -> str:
    """The image whose `koala` speaks to the pool: the old one's, where that does anything at all."""
    runs = {one.tag for one in project.workers if one.up}
    return new if old in runs and recovery.is_hopeless(project) else old


def _new(project: Project, found: Release) -> str:
    """The tag to roll out; empty when it runs everywhere already, made with the settings of now."""
    if not found.same_as:
        return found.tag
    there = [*project.workers, *project.schedulers]
    if any(one.tag != found.tag for one in there if one.up):
        return found.tag
    if not release.changed_settings(project, found.tag):
        return ""
    say("the image is the same, the settings have changed")
    return release.again(project, found.tag)


def _other(project: Project, old: str, new: str) -> str:
    """The image beside the new one, for the way back."""
    if old != new:
        return old
    runs = sorted({one.tag for one in [*project.workers, *project.schedulers] if one.up} - {new})
    return runs[0] if runs else project.before or old
