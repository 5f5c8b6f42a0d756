"""The pool's secrets: made where they are missing, and the store's access list kept in step with them."""

from __future__ import annotations

from pathlib import Path

from deploy.project import Project
from deploy.say import say

CHANGED = "changed redis/users.acl"


def make(project: Project, tag: str) -> None:
    """Make those that are missing, in a container: whoever may use Docker can do it. Raises DockerFailed.

    A Redis that runs reads a list that has changed: a newer Koala's programs may need commands that it did not grant.
    """
    folder = Path(project.root, project.settings.secrets_dir)
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    said = _once(project, tag, "secrets")
    if said:
        say(said)
    if CHANGED in " ".join(said.split()) and any(one.up for one in project.containers("redis")):
        say(_once(project, tag, "operator", "python", "-m", "koala.store.access"))


def _once(project: Project, tag: str, service: str, *command: str) -> str:
    return project.compose(tag).run("run", "--rm", "--no-deps", "--no-TTY", service, *command).strip()
