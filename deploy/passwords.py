"""The pool's secrets: made where they are missing, and the store's access list kept in step with them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from deploy.containers import Container
from deploy.problem import DockerFailed, Problem
from deploy.project import Project
from deploy.say import say

LIST = Path("redis", "users.acl")


def make(project: Project, tag: str) -> None:
    """Make those that are missing, in a container: whoever may use Docker can do it. Raises DockerFailed, Problem.

    A Redis that runs reads a list that has changed: a newer Koala's programs may need commands that it did not grant.
    """
    folder = Path(project.root, project.settings.secrets_dir)
    folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    if said := _once(project, tag, "secrets"):
        say(said)
    if any(one.up and _is_older(one, folder / LIST) for one in project.containers("redis")):
        _read_again(project, tag)


def _is_older(redis: Container, listed: Path) -> bool:
    """Whether the list has changed since this Redis began; it may have read it since, and then reads the same again."""
    began = datetime.fromisoformat(f"{redis.started[:19]}+00:00")
    return datetime.fromtimestamp(listed.stat().st_mtime, UTC) > began


def _read_again(project: Project, tag: str) -> None:
    try:
        say(_once(project, tag, "operator", "python", "-m", "koala.store.access"))
    except DockerFailed as error:
        raise Problem(
            f"the store that runs takes other passwords than {project.settings.secrets_dir} holds: {error.said}",
            "`docker compose restart redis` has it read the list that is there; work waits meanwhile. Then this again",
            error.exit_code,
        ) from None


def _once(project: Project, tag: str, service: str, *command: str) -> str:
    return project.compose(tag).run("run", "--rm", "--no-deps", "--no-TTY", service, *command).strip()
