"""What a container said last, for a person who asks why it did not start."""

from __future__ import annotations

from collections.abc import Iterable

from deploy import status
from deploy.containers import Container
from deploy.exits import STOPPED
from deploy.project import Project
from deploy.say import say

LINES = "5"


def show(project: Project, some: Iterable[Container]) -> None:
    """Of each that is not well, its last lines."""
    for one in some:
        if one.ready or (one.state == "exited" and one.exit in STOPPED):
            continue
        say(f"{one.name} is {status.state(one)}; its last words:")
        said = project.engine.tried("logs", "--tail", LINES, one.id)
        say(f"{said.out}{said.err}".rstrip())
