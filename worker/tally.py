"""What one attempt gives the metrics of its worker, told through the report of its slot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from koala import metrics
from koala.clock import boottime
from worker.report import Report


@dataclass
class Tally:
    """One attempt's counts. Never blocks, never raises."""

    report: Report
    workflow: str
    _began: float = field(default_factory=boottime)
    _open: bool = False
    _steps: dict[str, float] = field(default_factory=dict)

    def browser(self, result: str) -> None:
        """A browser or a context was asked for: one of `metrics.BROWSER_STARTS`."""
        self._open = self._open or result == "ok"
        self.report.count(metrics.BROWSER_STARTED.name, {"result": str(result)})

    def tab_died(self) -> None:
        """A tab died; the attempt may go on in another."""
        self.report.count(metrics.CRASHED.name, {"kind": "tab"})

    def step_began(self, name: str) -> None:
        """A step is being carried out."""
        self._steps[name] = boottime()

    def step_ended(self, name: str, *, done: bool) -> None:
        """It has given a result, or not."""
        began = self._steps.pop(name, None)
        if began is not None and done:
            self.report.observe(metrics.STEP_TIME.name, {"workflow": self.workflow}, boottime() - began)

    def ended(self, outcome: str, details: Mapping[str, Any], closed: str) -> None:
        """The attempt is over. `closed` is how its browser ended; empty for one that was cut."""
        labels = {"workflow": self.workflow, "outcome": outcome}
        self.report.observe(metrics.ATTEMPT_TIME.name, labels, boottime() - self._began)
        if self._open:
            self.report.count(metrics.BROWSER_CLOSED.name, {"result": closed or "killed"})
        kind = details.get("crash")
        if kind in metrics.CRASHED_HERE and kind != "tab":  # dead tabs were counted one by one
            self.report.count(metrics.CRASHED.name, {"kind": str(kind)})
