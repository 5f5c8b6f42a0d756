"""Waiting for a task, with its progress in view."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from koala import tasks, timeline
from koala.cli.output import STATUS_STYLES, err, say
from koala.cli.story import sentence
from koala.cli.text import foreign, visible
from koala.exits import Exit
from koala.span import span
from koala.store import OUTAGE, Store
from koala.tasks import Task
from koala.timeline import Event
from koala.why import Reason, Why, why

PACE_S = 0.2
SHOWN = 6
"""Steps that the live view keeps in sight."""


@dataclass
class Sight:
    """What is known of a task that is waited for."""

    task: Task
    why: Why
    events: list[Event] = field(default_factory=list)
    away: str = ""

    @property
    def over(self) -> bool:
        """Whether waiting longer is of no use: it has ended, or a person has to answer first."""
        return self.task.ended or self.task.status == "review"


def wait(store: Store, task_id: str, timeout_s: float | None) -> Task:
    """The task when it has ended, is in review, or the time is over. A store that is away is waited for.

    On a terminal the view is live; otherwise each event becomes a line. Both go to standard error. Raises StoreAway
    when the time is over and the store has not answered once.
    """
    end = time.monotonic() + timeout_s if timeout_s else None
    try:
        seen = _first(store, task_id, end)
        with _view(err(), seen) as draw:
            while not seen.over and not _over(end):
                time.sleep(PACE_S)
                seen = _again(store, seen)
                draw(seen)
    except KeyboardInterrupt:
        say(f"no longer waiting; the task goes on: `koala task {task_id}`")
        raise
    return seen.task


def _over(end: float | None) -> bool:
    return end is not None and time.monotonic() >= end


def _first(store: Store, task_id: str, end: float | None) -> Sight:
    while True:
        try:
            return _look(store, task_id, [])
        except OUTAGE:
            if _over(end):
                raise
        time.sleep(PACE_S)


def verdict(task: Task) -> tuple[int, str]:
    """The exit code and the sentence with which waiting ends."""
    if task.status == "done":
        return Exit.OK, f"done in {span(task.ended_ms - task.created_ms)}"
    if task.ended:
        return Exit.TASK_FAILED, f"{task.status}: {task.error or task.reason}"
    if task.status == "review":
        return Exit.WAITING, f"a person has to answer: `koala review show {task.question}`"
    return Exit.WAITING, f"the time ran out, the task is {task.status} and goes on: `koala task {task.id}`"


def _look(store: Store, task_id: str, known: list[Event]) -> Sight:
    task = tasks.get(store, task_id)
    after = known[-1].id if known else "-"
    return Sight(task, why(store, task), [*known, *timeline.read(store, task_id, after)])


def _again(store: Store, seen: Sight) -> Sight:
    try:
        return _look(store, seen.task.id, seen.events)
    except OUTAGE as error:
        return Sight(seen.task, seen.why, seen.events, away=str(error))


@contextmanager
def _view(console: Console, first: Sight) -> Iterator[Callable[[Sight], None]]:
    if not console.is_terminal:
        printer = _Lines()
        printer(first)
        yield printer
        return
    with Live(frame(first), console=console, transient=True, refresh_per_second=8) as live:
        yield lambda seen: live.update(frame(seen))


class _Lines:
    """Each event as one line, once."""

    def __init__(self) -> None:
        self._told = 0
        self._kind: tuple[object, ...] = ()

    def __call__(self, seen: Sight) -> None:
        for event in seen.events[self._told :]:
            say(f"  {sentence(event)}")
        self._told = len(seen.events)
        waits, kind = _waits(seen), (seen.away, seen.why.reason, seen.task.due_ms)
        if waits and kind != self._kind:  # once a reason, not once a second of its countdown
            say(f"  {waits}")
        self._kind = kind


def _waits(seen: Sight) -> str:
    if seen.away:
        return "the store does not answer"
    return "" if seen.why.reason is Reason.NOTHING else seen.why.text


def frame(seen: Sight) -> Group:
    """The live view: a line about the task, why it waits, its last steps and its progress."""
    task = seen.task
    title = Text.assemble(
        (task.status, STATUS_STYLES.get(task.status, "")), "  ",
        (visible(task.kind), "bold"), f"  {visible(task.profile)}  " if task.profile else "  ",
        (task.id, "dim"),
    )  # fmt: skip
    steps = [foreign(f"  {sentence(event)}", "dim") for event in seen.events[-SHOWN:]]
    waits = _waits(seen)
    reason = [foreign(f"  {waits}", "yellow")] if waits else []
    return Group(Spinner("dots", text=title), *steps, *reason, *_progress(task))


def _progress(task: Task) -> list[Table]:
    try:
        told = json.loads(task.progress or "{}")
        done, of, text = float(told["done"]), float(told["of"]), str(told.get("text", ""))
    except (ValueError, KeyError, TypeError):
        return []
    row = Table.grid(padding=(0, 1))
    row.add_row(" ", ProgressBar(total=of, completed=done, width=30), f"{done:g}/{of:g}", foreign(text))
    return [row]
