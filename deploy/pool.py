"""What the pool says of itself: the `koala` command, in a container that is kept for the length of a command."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from typing import Any

from deploy.compose import Compose
from deploy.containers import Container
from deploy.exits import Exit
from deploy.problem import KoalaSaid, PoolAway

KEPT_S = "1800"
"""The container ends by itself after so long, should this tool be killed; a longer command gets a new one."""
GONE = ("no such container", "is not running")


@dataclass(frozen=True)
class Slot:
    """One slot of a worker."""

    name: str
    worker: str
    busy: bool
    draining: bool
    trial: bool
    task: str = ""
    since_ms: int = 0
    image: str = ""


@dataclass(frozen=True)
class Sight:
    """The pool at one moment."""

    slots: tuple[Slot, ...] = ()
    counts: dict[str, dict[str, int]] = field(default_factory=dict)
    """What each image did: `attempt|workflow|outcome` and `crash|kind`."""
    leader: str = ""
    waiting: int = 0
    now_ms: int = 0

    def of(self, container: Container) -> list[Slot]:
        """The slots of the worker in a container."""
        return [slot for slot in self.slots if container.hosts(slot.worker)]

    def workers(self, container: Container) -> list[str]:
        """The names under which the worker in a container is known; a restarted one may have an old name too."""
        return sorted({slot.worker for slot in self.of(container)})


def parse(found: dict[str, Any]) -> Sight:
    """A sight from `koala status --json`."""
    return Sight(
        slots=tuple(map(_slot, found.get("slots") or ())),
        counts={image: _counts(of) for image, of in (found.get("counts") or {}).items()},
        leader=str(found.get("scheduler") or ""),
        waiting=sum((found.get("waiting") or {}).values()),
    )


def _counts(of: dict[str, Any]) -> dict[str, int]:
    made = {f"crash|{kind}": int(number) for kind, number in (of.get("crashes") or {}).items()}
    for workflow, outcomes in (of.get("attempts") or {}).items():
        made.update({f"attempt|{workflow}|{outcome}": int(number) for outcome, number in outcomes.items()})
    return made


def _slot(seat: dict[str, Any]) -> Slot:
    facts = seat.get("facts") or {}
    return Slot(
        name=seat["slot"],
        worker=seat["worker"],
        busy=seat["state"] == "busy",
        draining=bool(seat["draining"]),
        trial=str(facts.get("trial", "0")) == "1",
        task=seat.get("task", ""),
        since_ms=int(seat.get("since_ms", 0)),
        image=str(facts.get("image", "")),
    )


class Pool:
    """Asks the pool. Use it in a `with`: it keeps a container of the `operator` service."""

    def __init__(self, compose: Compose, project: str) -> None:
        self._compose = compose
        self._name = f"{project}-desk-{os.getpid()}"
        self._open = False

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        if self._open:
            self._compose.engine.tried("rm", "--force", self._name)

    def under(self, compose: Compose) -> None:
        """Ask with another image from now on."""
        self.__exit__()
        self._open, self._compose = False, compose

    def sight(self) -> Sight:
        """How it stands. Raises PoolAway."""
        return parse(self.ask("status"))

    def ask(self, *args: str) -> Any:
        """The data that a `koala` command answers with. Raises PoolAway, KoalaSaid."""
        return json.loads(self.order(*args, "--json") or "null")

    def order(self, *args: str) -> str:
        """Standard output of a `koala` command. Raises PoolAway, KoalaSaid."""
        code, out, err = self._exec(args)
        if code == Exit.STORE_AWAY:
            raise PoolAway(f"the pool's store does not answer: {_last(err)}")
        if code:
            raise KoalaSaid(" ".join(args), code, _last(err))
        return out

    def _exec(self, args: tuple[str, ...]) -> tuple[int, str, str]:
        for fresh in (False, True):
            self._keep()
            ran = self._compose.engine.tried("exec", self._name, "koala", *args)
            if fresh or not any(text in ran.err.lower() for text in GONE):
                break
            self.__exit__()
            self._open = False
        return ran.code, ran.out, ran.err

    def _keep(self) -> None:
        if self._open:
            return
        flags = ("--detach", "--rm", "--no-deps", "--no-TTY", "--name", self._name)
        ran = self._compose.tried("run", *flags, "operator", "sleep", KEPT_S)
        if ran.code:
            raise PoolAway(f"no container for the `koala` command starts: {_last(ran.err)}", Exit.FAILED)
        self._open = True


def _last(text: str) -> str:
    """The last lines of what was said."""
    return " ".join(" ".join(text.split())[-400:].split())
