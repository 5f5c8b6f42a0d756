"""One thing that is done to the pool: when, to whom, and how long until work went on."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from demo import story
from demo.pool import Pool
from demo.sight import Running, Sight
from demo.story import Moment
from koala import tasks
from koala.clock import wall_ms
from koala.store import Store

PATIENCE_S = 8.0
"""How long a fault waits for the moment it is meant for; after that any attempt in work will do."""
MOST_CRASHES = 1
"""A task that has crashed more often is spared: a third crash would be the end of it, and rightly so."""
AT_WORK = (Moment.LOOKING, Moment.ORDERING, Moment.ORDERED)


@dataclass
class Scene:
    """Where faults happen, and who watches."""

    pool: Pool
    store: Store
    say: Callable[[str], None]
    spared: set[str] = field(default_factory=set)
    """Labels of the tasks that were hit before: there are others."""

    def still_running(self, hits: Iterable[Running]) -> list[Running]:
        """Those of the attempts that the store has as running now, that is, after the blow."""
        wanted = list(hits)
        now = {task.id: task for task in tasks.many(self.store, [hit.task_id for hit in wanted])}
        return [hit for hit in wanted if (now[hit.task_id].status, now[hit.task_id].fence) == ("running", hit.fence)]


class Fault(ABC):
    """Waits until the faults of `after` are over, then for a victim in work; over when work has gone on.

    `wants` are the moments of an attempt that it is meant for, the dearest first.
    """

    def __init__(self, scene: Scene, name: str, *, wants: Sequence[Moment] = (), after: Sequence[Fault] = ()) -> None:
        self.scene = scene
        self.name = name
        self.hits: list[Running] = []
        self.struck_ms = 0
        self.seconds: float | None = None
        self.did = ""
        self._wants = tuple(wants)
        self._after = tuple(after)
        self._waits_since = 0.0

    @property
    def struck(self) -> bool:
        """Whether it has been carried out on a victim in work."""
        return self.struck_ms > 0

    @property
    def over(self) -> bool:
        """Whether it was carried out and work has gone on."""
        return self.seconds is not None

    def tick(self, sight: Sight) -> bool:
        """Do what can be done now; short. Whether it struck: then what was seen before is no longer true."""
        if self.over or not all(fault.over for fault in self._after):
            return False
        if self.struck:
            self._follow(sight)
            return False
        if sight.away or not self.ready(sight):
            return False
        self._waits_since = self._waits_since or time.monotonic()
        return self._try(sight)

    def ready(self, sight: Sight) -> bool:
        """Whether the pool is in a state for it."""
        return True

    @abstractmethod
    def strike(self, sight: Sight) -> str:
        """Carry it out on a victim in work and put those who were hit into `hits`; what was done, empty for nothing."""

    def mended(self, sight: Sight) -> bool:
        """Put back what the demo itself has to put back; whether that is done."""
        return True

    def went_on_ms(self, sight: Sight) -> int | None:
        """When work had gone on for everyone who was hit; None before."""
        times = [story.resumed_ms(sight.events[hit.work.label], hit.fence, self.struck_ms) for hit in self.hits]
        known = [at for at in times if at is not None]
        return max(known) if known and len(known) == len(times) else None

    def spoiled(self, sight: Sight) -> bool:
        """Whether it turned out to have hit nobody, so that it has to be done again."""
        return False

    def epilogue(self) -> str:
        """What is told when work has gone on."""
        return f"{names(self.hits)} went on"

    def candidates(self, sight: Sight) -> list[Running]:
        """Orders in a moment that will do by now, the dearest first."""
        moments = AT_WORK if self._waited() > PATIENCE_S else self._wants
        fit = [one for one in sight.running if one.work.order and one.moment in moments and self.may_hit(one)]
        return sorted(fit, key=lambda one: moments.index(one.moment))

    def may_hit(self, one: Running) -> bool:
        """Whether this attempt may be hit: one of a task that was hit before only after a long wait."""
        fresh = one.work.label not in self.scene.spared or self._waited() > 2 * PATIENCE_S
        return fresh and one.crashes <= MOST_CRASHES

    def _waited(self) -> float:
        return time.monotonic() - self._waits_since

    def _try(self, sight: Sight) -> bool:
        at = wall_ms()
        self.did = self.strike(sight)
        if self.did:
            self.struck_ms = at
            self.scene.spared |= {hit.work.label for hit in self.hits}
            self.scene.say(self.did)
        return self.struck

    def _follow(self, sight: Sight) -> None:
        mended = self.mended(sight)
        if sight.away:
            return
        if self.spoiled(sight):
            self.scene.say(f"that {self.name} came too late for {names(self.hits)}: once more")
            self.hits, self.struck_ms, self.did = [], 0, ""
            return
        at = self.went_on_ms(sight)
        if mended and at is not None:
            self.seconds = max(0.0, (at - self.struck_ms) / 1000)
            self.scene.say(f"{self.epilogue()}, {self.seconds:.1f} s after the {self.name}")


def names(hits: Sequence[Running], *, moments: bool = False) -> str:
    """The tasks that were hit, as a person would list them."""
    told = [f"{hit.work.label} ({hit.moment})" if moments else hit.work.label for hit in hits]
    return " and ".join(filter(None, [", ".join(told[:-1]), told[-1]])) if told else "nobody"
