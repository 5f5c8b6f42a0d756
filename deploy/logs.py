"""`logs`: what the containers say."""

from __future__ import annotations

import os
from typing import NoReturn

from deploy.project import Project


def logs(project: Project, service: str, lines: int, *, follow: bool) -> NoReturn:
    """Become `docker compose logs`."""
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
