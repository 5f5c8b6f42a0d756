"""A restore that was begun: written down beside the pool's lock before anything is touched, until it is complete."""

from __future__ import annotations

import json
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path

from deploy.exits import Exit
from deploy.problem import Problem
from deploy.project import Project


@dataclass(frozen=True)
class Begun:
    """A restore under way. `id` names what it keeps aside, so that it goes on where it was killed."""

    id: str
    source: str


def begin(project: Project, source: str) -> Begun:
    """Write it down; one under way from the same backup is gone on with. Raises Problem when it is another's."""
    before = found(project)
    if before and before.source != source:
        refuse(project)
    begun = before or Begun(secrets.token_hex(4), source)
    path = _note(project)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(asdict(begun)), "utf-8")
    new.replace(path)
    return begun


def found(project: Project) -> Begun | None:
    """The one under way; None without."""
    try:
        return Begun(**json.loads(_note(project).read_text("utf-8")))
    except FileNotFoundError:
        return None


def refuse(project: Project) -> None:
    """Raise Problem while one is under way: the store may be half there, or not declared."""
    begun = found(project)
    if begun:
        raise Problem(f"a restore of {begun.source} was begun and is not complete", goes_on(begun), Exit.REFUSED)


def goes_on(begun: Begun) -> str:
    """What to do about it."""
    return f"`make restore FROM={begun.source}` goes on with it"


def done(project: Project) -> None:
    """It is complete."""
    _note(project).unlink()


def _note(project: Project) -> Path:
    return project.lock.with_suffix(".restore")
