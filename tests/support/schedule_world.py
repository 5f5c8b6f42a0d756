"""One schedule over simulated time: a store that keeps what is decided, runs that end when they like, downtimes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from koala.schedules import policy
from koala.schedules.definition import Definition
from koala.schedules.state import Decision, Run, Skipped, State, Status


@dataclass
class World:
    """Begins with the schedule enabled at `now`. `planned` are all planned times there will be, by another source."""

    definition: Definition
    planned: Sequence[int]
    now: int
    state: State = field(init=False)
    started: list[int] = field(default_factory=list)
    """Planned times of the runs, in the order of their starts."""
    skipped: list[Skipped] = field(default_factory=list)
    most_at_once: int = 0
    batches: list[tuple[int, int, list[int]]] = field(default_factory=list)
    """Each decision that considered new times: cursor before, time, and what was chosen of them."""

    def __post_init__(self) -> None:
        self.began = self.now
        self.state = State(self.definition, status=Status.ON, cursor_ms=self.now, next_ms=self.now)

    def tick(self) -> None:
        """What the active scheduler does: decide until nothing is due."""
        while self.state.status is Status.ON and 0 < self.state.next_ms <= self.now:
            self.carry_out(self.state, policy.decide(self.state, self.now))

    def carry_out(self, seen: State, decision: Decision) -> bool:
        """As the store does it: only for the turn that was seen."""
        if seen.turn != self.state.turn:
            return False
        self._note(seen, decision)
        runs = list(seen.running)
        if decision.start:
            self.started.append(decision.start.planned_ms)
            runs.append(Run(f"task-{len(self.started)}", decision.start.planned_ms, "running"))
            self.most_at_once = max(self.most_at_once, len(runs))
        self.skipped += decision.skipped
        self.state = replace(
            self.state, turn=self.state.turn + 1, status=decision.status, note=decision.note,
            cursor_ms=decision.cursor_ms, next_ms=decision.next_ms, failures=decision.failures,
            waiting=decision.waiting, runs=tuple(runs),
            last_ms=self.now if decision.start else self.state.last_ms,
        )  # fmt: skip
        return True

    def end(self, which: int, status: str) -> None:
        """A run ends, if there is one."""
        running = self.state.running
        if running:
            ended = running[which % len(running)]
            runs = tuple(replace(run, status=status) if run == ended else run for run in self.state.runs)
            self.state = replace(self.state, runs=runs)

    def accounted(self) -> Counter[int]:
        """How often each planned time was started, skipped, or waits."""
        found = Counter(self.started)
        found.update(item.planned_ms for item in self.state.waiting)
        for item in self.skipped:
            inside = [at for at in self.planned if item.from_ms <= at <= item.to_ms]
            if item.count == len(inside):
                found.update(inside)
            else:
                found.update(at for at in (item.from_ms, item.to_ms))
        return found

    def _note(self, seen: State, decision: Decision) -> None:
        before = {item.planned_ms for item in seen.waiting}
        after = [item.planned_ms for item in decision.waiting] + ([decision.start.planned_ms] if decision.start else [])
        dropped = [item.from_ms for item in decision.skipped if item.outcome == "overlap"]
        if decision.cursor_ms > seen.cursor_ms:
            self.batches.append((seen.cursor_ms, self.now, [at for at in (*after, *dropped) if at not in before]))
