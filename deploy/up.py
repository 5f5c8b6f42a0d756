"""`up`: from a checkout to a running pool."""

from __future__ import annotations

from deploy import last_words, memory, passwords, recovery, release, status
from deploy.exits import Exit
from deploy.problem import DockerFailed, Problem
from deploy.project import Project
from deploy.say import out, say
from deploy.services import SCHEDULER, WORKER


def up(project: Project) -> Exit:
    """Make what is missing, build, start, and print what runs where. Work under way is left alone. Raises Problem."""
    services = project.services.started(project.settings.profiles)
    found = release.build(project, project.services.built(services))
    runs = "" if recovery.is_hopeless(project) else project.runs()
    tag = runs or found.tag
    is_new = not has_data(project)  # whatever Compose does first makes every volume
    passwords.make(project, tag)
    if is_new:
        mark_volume(project, tag)
    _left_out(project)
    if not runs and (lost := project.runs()) not in ("", tag):
        say(f"no worker of koala {lost} stays up: starts koala {tag} in its place")
    if doubt := memory.doubt(project, project.services.replicas(WORKER)):
        say(doubt)
    _start(project, services, tag, keep=bool(runs))
    project.keep({**project.went_to(tag), "KOALA_SECRETS_DIR": project.settings.secrets_dir})
    release.tidy(project)
    for line in status.containers(project):
        out(line)
    _next(project, found.tag, tag)
    return Exit.OK


def has_data(project: Project) -> bool:
    """Whether any volume of the pool is there. A data volume that is missing beside others was lost, and is not marked:
    a worker has to say so instead of going on without its logins.
    """
    return any(project.engine.tried("volume", "inspect", one).code == 0 for one in project.services.volumes)


def mark_volume(project: Project, tag: str) -> None:
    """Give the data volume of a new pool its mark. Raises DockerFailed; then it is as if it had not been made."""
    flags = ("--rm", "--no-deps", "--no-TTY")
    try:
        say(project.compose(tag).run("run", *flags, "operator", "python", "-m", "worker", "init").strip())
    except DockerFailed:
        for one in project.services.volumes:
            project.engine.tried("volume", "rm", one)
        raise


def _left_out(project: Project) -> None:
    """With KOALA_MINIMAL what is left out stops, should it run; its data stays."""
    if not project.settings.minimal:
        return
    extra = [one.name for name in project.services.optional() for one in project.containers(name)]
    if extra:
        project.engine.docker("stop", *extra, timeout_s=None)
        project.engine.docker("rm", *extra)


def _start(project: Project, services: list[str], tag: str, *, keep: bool) -> None:
    """Start everything; with `keep` the workers and schedulers that run stay as they are."""
    compose = project.compose(tag)
    try:
        if not keep:
            compose.up(services)
            return
        compose.up([name for name in services if name not in (WORKER, SCHEDULER)])
        compose.up([SCHEDULER], "--no-recreate")
        there = max(project.services.replicas(WORKER), len(project.workers))  # fewer would be for Compose to choose
        compose.up([WORKER], "--no-recreate", "--scale", f"{WORKER}={there}")
    except DockerFailed as error:
        last_words.show(project, project.containers())
        raise Problem(str(error), recovery.advised(project, error.advice), error.exit_code) from None


def _next(project: Project, built: str, tag: str) -> None:
    """What to do from here."""
    out()
    if built != tag:
        out(
            f"koala {built} is built; the pool goes on with {tag}. `make deploy` brings the new one in, cutting nothing"
        )
    elif release.changed_settings(project, tag):
        out("the workers run with earlier settings: `make deploy` brings the new ones in, cutting nothing")
    out("make status · make logs · make scale N=4 · make drain · make deploy · make down")
    out("docker compose run --rm operator koala submit …    hands in a task")
