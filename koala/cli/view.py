"""Everything about one task, for `koala task`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from koala import keys, ledger, reviews, tasks, timeline
from koala.cli.output import STATUS_STYLES, Row, listing, out
from koala.cli.session import Session
from koala.cli.story import sentence, style
from koala.cli.text import brief, foreign, pretty, visible
from koala.cli.times import clock, day, local
from koala.ledger import Entry
from koala.reviews import Question
from koala.span import span
from koala.tasks import Task
from koala.timeline import Event
from koala.why import Why, why

INDENT = 2


@dataclass(frozen=True)
class Sight:
    """One task with all that belongs to it; the parts are not of one instant."""

    task: Task
    why: Why
    events: list[Event]
    checkpoints: dict[str, Any]
    effects: list[Entry]
    attempts: list[dict[str, Any]]
    question: Question | None
    artifacts: list[str]
    now_ms: int

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            **self.task.public(),
            "why": vars(self.why),
            "timeline": [{**vars(event), "text": sentence(event)} for event in self.events],
            "checkpoints": self.checkpoints,
            "effects": [_plain(vars(entry)) for entry in self.effects],
            "attempts_made": self.attempts,
            "review": _plain({**vars(self.question), "allowed": self.question.allowed}) if self.question else None,
            "artifacts": self.artifacts,
        }


def _plain(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the underscores that Python's reserved words need."""
    return {name.rstrip("_"): value for name, value in record.items()}


def gather(now: Session, task_id: str) -> Sight:
    """Read a task and all that belongs to it. Raises NotFound."""
    store = now.store
    task = tasks.get(store, task_id)
    events = timeline.read(store, task_id)
    return Sight(
        task=task,
        why=why(store, task),
        events=events,
        checkpoints={
            str(name): json.loads(text) for name, text in store.client.hgetall(keys.checkpoints(task_id)).items()
        },
        effects=ledger.of_task(store, task_id),
        attempts=_attempts(now, task_id),
        question=reviews.get(store, task.question) if task.question else None,
        artifacts=list(_artifacts(now, task_id, events)),
        now_ms=tasks.now_ms(store),
    )


def _attempts(now: Session, task_id: str) -> list[dict[str, Any]]:
    """The attempts, first to last, each with its report of being gone where there is one."""
    reports = now.store.client.hgetall(keys.gone(task_id))
    made = [json.loads(text) for text in now.store.client.hgetall(keys.attempts(task_id)).values()]
    for attempt in made:
        report = reports.get(attempt.get("fence", ""))
        attempt["gone"] = json.loads(report) if report else None
    return sorted(made, key=lambda attempt: int(attempt.get("started_ms", 0)))


def _artifacts(now: Session, task_id: str, events: list[Event]) -> Iterator[str]:
    """Where each recorded file lies on the worker's volume: in the directory of its attempt."""
    fence = ""
    for event in events:
        fence = str(event.data.get("fence") or fence)
        if event.action == "artifact":
            yield str(now.config.data / "artifacts" / task_id / fence / str(event.data.get("file")))


def card(seen: Sight) -> RenderableType:
    """How a person sees it."""
    parts = (
        _head(seen),
        *_section("arguments", _value(json.loads(seen.task.args or "null"))),
        *_section("result", _value(json.loads(seen.task.result)) if seen.task.result else None),
        *_section("error", foreign(seen.task.error, "red") if seen.task.error else None),
        *_section("review", _question(seen.question) if seen.question else None),
        *_section("effects", _effects(seen.effects) if seen.effects else None),
        *_section("checkpoints", _checkpoints(seen.checkpoints) if seen.checkpoints else None),
        *_section("attempts", _made(seen) if seen.attempts else None),
        *_section("files", Text("\n").join(map(foreign, seen.artifacts)) if seen.artifacts else None),
        *_section(f"timeline, {day(seen.task.created_ms)}", _timeline(seen.events)),
    )
    return Group(*parts)


def _section(name: str, body: RenderableType | None) -> list[RenderableType]:
    return [] if body is None else [Text(f"\n{name}", "bold"), Padding(body, (0, 0, 0, INDENT))]


def _value(value: Any) -> Text:
    return Text(pretty(value))


def _head(seen: Sight) -> RenderableType:
    task = seen.task
    rows = Table.grid(padding=(0, 2))
    rows.add_row("task", Text(visible(task.id), "bold"))
    rows.add_row("workflow", Text(visible(task.kind) + (f" as {visible(task.profile)}" if task.profile else "")))
    rows.add_row("status", Text.assemble((task.status, STATUS_STYLES.get(task.status, "")), visible(_state(seen))))
    rows.add_row("accepted", f"{local(task.created_ms)}, {span(seen.now_ms - task.created_ms)} ago")
    for name, ms in (("due", task.due_ms if task.status == "later" else 0), ("deadline", task.deadline_ms),
                     ("ended", task.ended_ms)):  # fmt: skip
        if ms:
            rows.add_row(name, local(ms))
    rows.add_row("attempts", f"{task.attempts} of {task.max_attempts} spent, {task.crashes} of 3 crashes")
    if task.priority:
        rows.add_row("priority", str(task.priority))
    if task.dedupe:
        rows.add_row("key", foreign(task.dedupe))
    if task.progress:
        rows.add_row("progress", foreign(_progress(task.progress)))
    return rows


def _state(seen: Sight) -> str:
    """What is said behind the status: why it waits or how it ended, and the end that is wanted."""
    reason = seen.why
    ahead = f" ({reason.ahead} of its lane ahead)" if reason.ahead else ""
    wanted = f"; it is to end as {seen.task.wanted}: {seen.task.wanted_reason}" if seen.task.wanted else ""
    return f" — {reason.text}{ahead}{wanted}" if reason.text or wanted else ""


def _progress(text: str) -> str:
    told = json.loads(text)
    return f"{told.get('done')} of {told.get('of')} {told.get('text', '')}".strip()


def _question(question: Question) -> RenderableType:
    return Text(
        f"{visible(question.id)} ({question.kind}) about {visible(question.operation)}, try {question.try_}: "
        f"{visible(question.why)}\nanswer it: koala review show {visible(question.id)}"
    )


def _effects(entries: list[Entry]) -> RenderableType:
    rows: list[Row] = [
        [
            foreign(entry.operation),
            foreign(entry.state, "bold red" if entry.state == "sent" else ""),
            str(entry.try_),
            foreign(entry.how),
            "" if entry.receipt is None else brief(entry.receipt),
        ]
        for entry in entries
    ]
    return _table(["effect…", "state", ">try", "how", "receipt…"], rows)


def _table(columns: list[str], rows: list[Row]) -> RenderableType:
    return listing(columns, rows, out().width - INDENT)


def _checkpoints(saved: dict[str, Any]) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    for name, value in saved.items():
        rows.add_row(foreign(name), brief(value))
    return rows


def _made(seen: Sight) -> RenderableType:
    rows = [_attempt(attempt, seen.now_ms) for attempt in seen.attempts]
    return _table(["fence", "slot…", ">took", "outcome…", "gone…"], rows)


def _attempt(attempt: dict[str, Any], now_ms: int) -> Row:
    outcome, note, report = attempt.get("outcome", "runs"), attempt.get("reason", ""), attempt["gone"]
    return [
        foreign(attempt.get("fence")),
        foreign(attempt.get("slot")),
        span(int(attempt.get("ended_ms", now_ms)) - int(attempt.get("started_ms", 0)), 1),
        foreign(outcome if note in ("", outcome) else f"{outcome}: {brief(note)}"),
        foreign(f"{report['because']}, says {report['by']}" if report else ""),
    ]


def _timeline(events: list[Event]) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    shown = ""
    for event in events:
        if (today := day(event.at_ms)) != shown and shown:
            rows.add_row(Text(today.split()[0], "dim"), "")
        shown = today
        rows.add_row(Text(clock(event.at_ms), "dim"), Text(sentence(event), style(event.action)))
    return rows
