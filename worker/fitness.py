"""Whether a slot is fit for work, by how its last attempts ended: one whose browsers fail would win every retry."""

from __future__ import annotations

from dataclasses import dataclass

from worker.attempt import Ended

FAILED_STARTS = 3
CRASHES = 2
"""So many in a row make it rest."""
REST_S = 10.0
FIRST_REST_S = 1.0
LONGEST_REST_S = 30.0
WORKED = frozenset({"done", "failed", "snoozed", "review", "cancelled"})
"""Outcomes with which the child, and what it had opened, lived to the end."""


@dataclass
class Fitness:
    """What a slot knows of itself. Nothing here blocks."""

    no_browser: int = 0
    """Attempts in a row that ended because no browser started here."""
    crashing: int = 0
    """Attempts in a row under which browser, driver or child died here."""
    fault: str = ""
    """Why browsers do not come up here although no task is there to blame; empty when they do."""
    owes_rest: bool = False
    """It takes no work before it has rested."""

    @property
    def doubtful(self) -> bool:
        """Whether the next crash may well be ours, and not its task's."""
        return self.crashing > 0

    @property
    def rest_s(self) -> float:
        """How long it rests now; longer with each crash."""
        if self.fault or self.crashing < CRASHES:
            return REST_S
        return float(min(LONGEST_REST_S, FIRST_REST_S * 2 ** (self.crashing - CRASHES)))

    @property
    def unsure(self) -> bool:
        """Whether it has to look, after its rest, if browsers come up here. After crashes alone it need not: whoever
        judged the last one has looked, and what broke since costs a task nothing.
        """
        return bool(self.fault) or self.no_browser > 0

    def note(self, ended: Ended) -> None:
        """An attempt has ended."""
        self.no_browser = self.no_browser + 1 if ended.no_browser else 0
        if ended.outcome == "crashed" or ended.unfit:
            self.crashing += 1
        elif ended.outcome in WORKED:
            self.crashing = 0
        if ended.unfit:
            self.fault = ended.reason
        self.owes_rest = bool(self.fault) or self.no_browser >= FAILED_STARTS or self.crashing >= CRASHES

    def rested(self, fault: str) -> None:
        """It has, and looked again if it was unsure: `fault` is what it found, empty when browsers come up. Then one
        try more.
        """
        self.fault, self.owes_rest = fault, bool(fault)
        self.no_browser = min(self.no_browser, FAILED_STARTS - 1)
