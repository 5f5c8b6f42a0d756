"""Whether a worker's slots are well, by their beats and their deaths. Time is passed in, in monotonic seconds."""

from __future__ import annotations

from dataclasses import dataclass, field

START_S = 120.0
"""How long a slot may take to its first beat: loading the workflows, and a browser that comes up slowly."""
CALM_S = 60.0
"""A life in which a slot was ready for so long was a good one."""
STILLBORN = 6
"""After so many lives in a row in which a slot was never ready, the worker gives up."""
DEATHS = 20
"""After so many in a row that were short. Many: it may be tasks that take a slot down, and those run out of tries."""


@dataclass
class Life:
    """One life of a slot."""

    born: float
    beat_at: float | None = None
    ready_at: float | None = None


@dataclass
class Health:
    """The slots that should be there. `hung_s`: a slot that was silent for so long hangs."""

    hung_s: float
    start_s: float = START_S
    lives: dict[int, Life | None] = field(default_factory=dict)
    deaths: dict[int, int] = field(default_factory=dict)
    """Of each slot, short lives in a row."""
    stillborn: dict[int, int] = field(default_factory=dict)
    """Of each slot, lives in a row in which it was never ready."""

    def born(self, slot: int, now: float) -> None:
        """A slot begins a life."""
        self.lives[slot] = Life(now)

    def beat(self, slot: int, now: float) -> None:
        """A slot said that its event loop runs; the first time also that it is ready."""
        life = self.lives.get(slot)
        if life:
            life.beat_at = now
            life.ready_at = life.ready_at or now

    def died(self, slot: int, now: float, *, blameless: bool = False) -> int:
        """A slot's life ended before it should; how many such there were in a row. A good life ends the row.

        One that could not begin because the store was away is blameless: it does not count.
        """
        life, self.lives[slot] = self.lives.get(slot), None
        good = life is not None and life.ready_at is not None and now - life.ready_at > CALM_S
        if not blameless:
            self.deaths[slot] = 0 if good else self.deaths.get(slot, 0) + 1
            self.stillborn[slot] = 0 if life and life.ready_at is not None else self.stillborn.get(slot, 0) + 1
        return self.deaths.get(slot, 0)

    def is_hopeless(self, slot: int) -> bool:
        """Whether there is no point in starting it once more."""
        return self.deaths.get(slot, 0) >= DEATHS or self.stillborn.get(slot, 0) >= STILLBORN

    def left(self, slot: int) -> None:
        """A slot has gone for good, as it should: it is not missed."""
        self.lives.pop(slot, None)

    def hung(self, now: float) -> list[int]:
        """The slots that have been silent for too long."""
        return [slot for slot, life in self.lives.items() if life and self._silent_s(life, now) > self._limit_s(life)]

    def forgive(self, now: float) -> None:
        """We were frozen or suspended ourselves: nobody could be heard meanwhile."""
        for life in filter(None, self.lives.values()):
            life.born = now
            life.beat_at = life.beat_at and now

    def silent(self, now: float) -> dict[int, float]:
        """How long each slot has been silent that was heard in this life. From any thread."""
        lives = list(self.lives.items())
        return {slot: now - life.beat_at for slot, life in lives if life and life.beat_at is not None}

    def why(self, now: float) -> str:
        """Why the worker is not well; empty when each slot is there, ready, and was heard lately."""
        if not self.lives:
            return "it has no slots"
        said = {slot: self._of(life, now) for slot, life in self.lives.items()}
        return "; ".join(f"slot {slot} {what}" for slot, what in said.items() if what)

    def _of(self, life: Life | None, now: float) -> str:
        if life is None:
            return "died and is started again"
        if life.beat_at is None:
            return f"has been starting for {now - life.born:.0f} s"
        silent_s = self._silent_s(life, now)
        return f"has been silent for {silent_s:.0f} s" if silent_s > self.hung_s / 2 else ""

    def _silent_s(self, life: Life, now: float) -> float:
        return now - (life.born if life.beat_at is None else life.beat_at)

    def _limit_s(self, life: Life) -> float:
        return self.start_s if life.beat_at is None else self.hung_s
