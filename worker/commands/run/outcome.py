"""What became of a run: for the person, for programs, and as an exit code."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from koala import ledger
from koala.exits import Exit
from koala.span import span
from koala.tasks import Task
from worker.commands.run.home import Home


@dataclass(frozen=True)
class Outcome:
    """One run. `parked` says why it went no further although its task had not ended."""

    home: Home
    task: Task
    parked: str
    rehearsed: list[dict[str, Any]]
    interrupted: bool

    @property
    def status(self) -> str:
        """The task's, but `rehearsed` when it stopped before an effect, as it should."""
        return "rehearsed" if self.parked.startswith("rehearsed:") else self.task.status

    @property
    def result(self) -> Any:
        """What the workflow returned; None without a result."""
        return json.loads(self.task.result) if self.task.result else None

    @property
    def exit(self) -> Exit:
        """The exit code."""
        if self.status in ("done", "rehearsed"):
            return Exit.OK
        if self.task.status == "review":
            return Exit.WAITING
        return Exit.FAILED if self.parked or self.interrupted else Exit.TASK_FAILED

    @property
    def unsettled(self) -> bool:
        """Whether an effect of it is still unknown."""
        return bool(ledger.open_of_task(self.home.store, self.task.id))

    def verdict(self) -> str:
        """One sentence."""
        task = self.task
        if self.status == "rehearsed":
            return "rehearsed: nothing was done. Add --act to do it"
        if self.unsettled:
            return "an effect is not settled: run the same command again to settle it"
        if task.status == "done":
            return f"done in {span(task.ended_ms - task.created_ms)}"
        if task.status == "review":
            return "a person has to answer: run the same command again in a terminal"
        return f"it cannot go on: {self.parked}" if self.parked else f"{task.status}: {task.error or task.reason}"

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        task, home = self.task, self.home
        return {
            "task": task.id,
            "workflow": task.workflow,
            "profile": task.profile,
            "status": self.status,
            "result": self.result,
            "reason": self.parked or task.reason,
            "error": task.error,
            "interrupted": self.interrupted,
            "rehearsed": self.rehearsed,
            "effects": [
                {"operation": entry.operation, "state": entry.state, "try": entry.try_, "receipt": entry.receipt}
                for entry in ledger.of_task(home.store, task.id)
            ],
            "question": task.question or None,
            "artifacts": sorted(map(str, (home.volume.artifacts / task.id).glob("*/*"))),
        }
