"""`restore`: a backup in the place of what is there; its tasks then look before they act.

Workers are drained, the store and the profiles are put back, the restore is declared, and the pool starts. What was
there is kept aside in the volumes. Killed anywhere, the same command goes on; until it has, nothing else may start.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from deploy import archive, containers, interrupt, last_words, leave, pour, unfinished
from deploy.archive import Archive
from deploy.compose import Compose
from deploy.exits import Exit
from deploy.interrupt import Interrupted
from deploy.problem import DockerFailed, Problem
from deploy.project import Project
from deploy.say import out, say
from deploy.services import SCHEDULER, WORKER
from deploy.unfinished import Begun

PUT_BACK = Path(__file__).with_name("putback.sh")
DATA = "/data"
REDIS = "redis"
LABEL = "koala.restoring"
STEP = ("run", "--rm", "--no-deps", "--no-TTY", "--label", f"{LABEL}=1")
"""A step in a container of its own. One that is killed from outside leaves it at work; it is found by its label."""
WORKER_PROGRAM = ("operator", "python", "-m", "worker", "restore")
STARTS = "the restore is complete: `make up` starts the pool"
STAYS = "stops waiting: the workers go on draining, nothing is restored yet. Once more: at once"


@dataclass(frozen=True)
class Wish:
    """What a person wants restored. `others_gone`: how they know that nothing runs on the backup's other machines."""

    source: str
    because: str = ""
    others_gone: str = ""
    keep_profiles: bool = False
    doubt_days: str = ""
    """For how long new tasks with a key that the ledger does not know look first, too; empty: a day."""


def restore(project: Project, wish: Wish) -> Exit:
    """Do all of it. Raises Problem, Interrupted; given again, it goes on."""
    if not wish.source:
        raise Problem("which backup?", "make restore FROM=backups/koala-…", Exit.USAGE)
    found = archive.read(Path(project.root, wish.source).resolve())
    begun = unfinished.begin(project, str(found.path))
    compose = project.compose(project.tag)
    _end_steps(project)
    _stop(project)
    _check(compose)
    _store(compose, found, begun)
    if not wish.keep_profiles:
        say("the profiles")
        pour.into(compose, found.profiles, *STEP, *WORKER_PROGRAM, "profiles", "--id", begun.id)
    declared = _declare(compose, found, wish)
    unfinished.done(project)
    _tell(found, declared, begun)
    _start(project, compose)
    return Exit.OK


def _end_steps(project: Project) -> None:
    """End what a killed restore has left at work in containers: what it does would come after what is done now."""
    ours = ("--filter", f"label={containers.PROJECT}={project.services.project}", "--filter", f"label={LABEL}")
    left = project.engine.docker("ps", "--all", "--quiet", *ours).split()
    if left:
        say("ends a step of a restore that was killed")
        project.engine.tried("rm", "--force", *left)


def _stop(project: Project) -> None:
    """Drain the workers, then take schedulers and store away too."""
    running = [one for one in project.workers if one.up]
    if running:
        say("drains the workers")
        with project.pool(project.tag) as pool, interrupt.meaning(STAYS):
            leave.all_of(project, pool, running)
    project.compose(project.tag).run("rm", "--stop", "--force", WORKER, SCHEDULER, REDIS)


def _check(compose: Compose) -> None:
    """Nobody who could still act is left on this machine. Raises Problem naming who is."""
    ran = compose.tried(*STEP, *WORKER_PROGRAM, "check")
    if ran.code:
        said = ran.err.strip().splitlines()
        raise Problem(
            said[-1] if said else "the locks cannot be looked at", "then give this command again", Exit.REFUSED
        )


def _store(compose: Compose, found: Archive, begun: Begun) -> None:
    """Put the snapshot in the place of the store's files, and start the store alone."""
    say("the store")
    digest = str(found.manifest["store"]["sha256"])
    script = ("--entrypoint", "sh", REDIS, "-c", PUT_BACK.read_text("utf-8"))
    keys = pour.into(compose, found.store, *STEP, *script, "putback", DATA, begun.id, digest).strip()
    say(f"{keys} keys are back")
    compose.up([REDIS], "--no-deps")


def _declare(compose: Compose, found: Archive, wish: Wish) -> dict[str, Any]:
    because = wish.because or f"the backup of {found.manifest['made']} was put back"
    given = {"--others-gone": wish.others_gone, "--doubt-days": wish.doubt_days}
    more = [word for name, text in given.items() if text for word in (name, text)]
    try:
        said = compose.run(*STEP, *WORKER_PROGRAM, "declare", "--json", "--because", because, *more)
    except DockerFailed as error:
        advice = 'give this command again; with OTHERS_GONE="how you know it" when it asks about other machines'
        raise Problem(error.said, advice, Exit.REFUSED) from None
    declared: dict[str, Any] = json.loads(said)
    return declared


def _tell(found: Archive, declared: dict[str, Any], begun: Begun) -> None:
    out(f"restored as of {found.manifest['made']}, in epoch {declared['epoch']}")
    out(f"{declared['tasks']} tasks have not ended: what they do outside is looked for, and done if it is not there")
    out(f"no work starts for {declared['hold_s']:g} s. What was there is kept in the volumes, below kept/{begun.id}")


def _start(project: Project, compose: Compose) -> None:
    """Start the pool. Whatever stops it now, the restore is not to be given again: it would go back once more."""
    say("starts the pool")
    try:
        with interrupt.meaning(f"{STARTS}. Once more: at once"):
            compose.up(project.services.started(project.settings.profiles))
    except KeyboardInterrupt:
        raise Interrupted(STARTS) from None
    except DockerFailed as error:
        last_words.show(project, project.containers())
        raise Problem(str(error), f"{STARTS}, when that is put right", error.exit_code) from None
