"""A pool that does not come up: whether there is anything to lose, and the way to one that does."""

from __future__ import annotations

from deploy.health import RESTARTS
from deploy.project import Project


def is_hopeless(project: Project) -> bool:
    """Whether workers were started and none stays up: there is no work that could be cut."""
    there = [one for one in project.workers if one.up]
    return bool(there) and all(not one.ready and one.restarts >= RESTARTS for one in there)


def way_back(project: Project) -> tuple[str, str]:
    """The image that `rollout --back` leads to, and the one it leads away from: out of a roll-out that was stopped,
    or back from one that went through. The first is empty where none is recorded.
    """
    recorded, runs = project.recorded, _tags(project)
    return (project.before, recorded) if runs <= {recorded} else (recorded, min(runs - {recorded}))


def advised(project: Project, usual: str) -> str:
    """What to do about it, with the way back to an image that came up, where there is one."""
    to, _ = way_back(project)
    back = f", or `make deploy BACK=1` for koala {to}" if to and project.image(to) else ""
    again = "deploy" if len(_tags(project)) > 1 else "up"
    return f"{usual}; mend it, then `make {again}` again{back}"


def _tags(project: Project) -> set[str]:
    return {one.tag for one in project.workers if one.up}
