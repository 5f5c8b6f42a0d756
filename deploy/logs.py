"""`logs`: what the containers say."""

from __future__ import annotations

import os
from typing import NoReturn

from deploy.exits import Exit
from deploy.problem import Problem
from deploy.project import Project


def logs(project: Project, service: str, lines: int, *, follow: bool) -> NoReturn:
    """Become `docker compose logs`. Raises Problem for a service that there is not."""
    known = sorted(project.services.config["services"])
    if service and service not in known:
        raise Problem(f"there is no service {service!r}", f"one of: {', '.join(known)}", Exit.NOT_FOUND)
    flags = ["--follow"] if follow else []
    words = [
        "docker",
        "compose",
        "--profile",
        "*",
        "logs",
        "--tail",
        str(lines),
        *flags,
        *([service] if service else []),
    ]
    os.chdir(project.root)
    os.execvpe("docker", words, {**project.environ, **project.compose(project.tag).environ})  # noqa: S606
