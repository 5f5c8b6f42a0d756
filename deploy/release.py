"""Building: a new tag for what differs from what runs, and no tag for what does not."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from deploy import images
from deploy.problem import Problem
from deploy.project import Project
from deploy.say import say
from deploy.services import WORKER


@dataclass(frozen=True)
class Release:
    """An image that may be rolled out."""

    tag: str
    same_as: str = ""
    """The tag that runs already and has the same content; empty when it is new."""


def build(project: Project, services: list[str]) -> Release:
    """Build these services. A given KOALA_TAG that is here already is taken as it is. Raises DockerFailed."""
    given = project.settings.tag
    if given and project.image(given):
        return Release(given, given if project.runs() == given else "")
    tag = given or images.fresh_tag(datetime.now().astimezone())
    say(f"builds {project.reference(tag)}")
    if not given:
        project.note_built([*project.built(), tag])
    project.compose(tag).watched("build", *services)
    return Release(tag) if given else _known(project, tag)


def _known(project: Project, tag: str) -> Release:
    """Take the fresh tag off again when one of the tags in use has the same content."""
    made = project.image(tag)
    for known in _in_use(project):
        there = project.image(known)
        if made and there and there.content == made.content:
            project.engine.tried("rmi", "--no-prune", project.reference(tag))
            return Release(known, known)
    return Release(tag)


def _in_use(project: Project) -> list[str]:
    """The tags of the workers, what is recorded last: a roll-out that was stopped goes on with its own."""
    recorded = project.recorded
    running = dict.fromkeys(one.tag for one in project.workers)
    return [*(tag for tag in running if tag != recorded), recorded]


def changed_settings(project: Project, tag: str) -> bool:
    """Whether a worker with this image would be made otherwise now than those that run were."""
    wanted = project.compose(tag).hash(WORKER)
    there = [one for one in project.workers if one.tag == tag]
    return any(one.config != wanted for one in there)


def again(project: Project, tag: str) -> str:
    """Another tag for the same image, for containers that are made anew with other settings."""
    fresh = images.fresh_tag(datetime.now().astimezone())
    project.note_built([*project.built(), fresh])
    project.engine.docker("tag", project.reference(tag), project.reference(fresh))
    return fresh


def tidy(project: Project) -> None:
    """Remove images that this pool had built and that it needs no more: neither for a container, nor for the way back.

    Another pool on this machine may have the same repository: what it built is its own.
    """
    needed = {one.tag for one in project.containers()} | {project.recorded, project.before}
    gone = [tag for tag in project.built() if tag not in needed]
    for tag in gone:
        project.engine.tried("rmi", project.reference(tag))  # an author's image may be built on it: then it stays
    if gone:
        project.note_built([tag for tag in project.built() if tag in needed])


def existing(project: Project, tag: str) -> Release:
    """An image that is here. Raises Problem."""
    if project.image(tag) is None:
        raise Problem(f"there is no image {project.reference(tag)} here", "`docker images` lists those that are")
    return Release(tag, tag if {one.tag for one in project.workers if one.up} == {tag} else "")
