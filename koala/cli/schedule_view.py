"""How schedules look on a terminal, and as data."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from koala.cli.output import STATUS_STYLES, Row, listing
from koala.cli.text import brief, foreign
from koala.cli.times import local
from koala.errors import KoalaError
from koala.schedules import preview, record
from koala.schedules.definition import CatchUp, Definition, Overlap
from koala.schedules.preview import Planned
from koala.schedules.record import Event, Seen
from koala.schedules.state import State, Status
from koala.span import span
from koala.store import Store

LATE_MS = 30_000
"""A scheduler that was away for some seconds makes nothing late."""
STYLES = {Status.OFF: "dim", Status.ON: "green", Status.PAUSED: "yellow", Status.OVER: "dim"}


@dataclass(frozen=True)
class Listed:
    """A schedule in the list. `fault` says why its definition cannot be understood here."""

    name: str
    state: State | None
    next_ms: int = 0
    fault: str = ""
    late_ms: int = 0
    """By how much it is overdue to be looked at; 0 when it is not."""

    def public(self) -> dict[str, Any]:
        """JSON-ready."""
        if self.state is None:
            return {"name": self.name, "fault": self.fault, "late_ms": self.late_ms}
        more = {"workflow": self.state.definition.workflow, "next_ms": self.next_ms, "late_ms": self.late_ms}
        return {**_status(self.state), **more}


def row(store: Store, seen: Seen) -> Listed:
    """What the list says of one schedule."""
    try:
        state = record.states(store, [seen])[0]
        return Listed(seen.name, state, _next(state, seen.now_ms), late_ms=seen.late_ms)
    except KoalaError as error:
        if error.retry:
            raise
        return Listed(seen.name, None, fault=str(error), late_ms=seen.late_ms)


def _next(state: State, now: int) -> int:
    """The next planned time of a schedule that is on; 0 for none."""
    if state.status is not Status.ON:
        return 0
    return state.definition.calendar.after(max(now, state.cursor_ms)) or 0


def listed(rows: Sequence[Listed]) -> RenderableType:
    """All of them, a line each."""
    columns = ["schedule", "status", "next run", "zone", ">runs", ">waiting", "workflow…", "note…"]
    return listing(columns, [_row(item) for item in rows])


def _row(item: Listed) -> Row:
    state = item.state
    if state is None:
        fault = foreign(_late(item) + item.fault)
        return [foreign(item.name, "bold"), Text("wrong", "red"), "—", "—", "—", "—", "—", fault]
    definition = state.definition
    when = preview.local(item.next_ms, definition.calendar.zone) if item.next_ms else "—"
    return [
        foreign(item.name, "bold"), Text(state.status, STYLES[state.status]), when, definition.zone,
        str(len(state.running) or "—"), str(len(state.waiting) or "—"), foreign(definition.workflow),
        foreign(_late(item) + state.note),
    ]  # fmt: skip


def _late(item: Listed) -> str:
    """How late it is, before what else is to be said of it."""
    return f"late by {span(item.late_ms)} " if item.late_ms > LATE_MS else ""


def planned(run: Planned) -> dict[str, Any]:
    """A planned run, JSON-ready."""
    return {"planned_ms": run.at_ms, "local": run.local, "utc": run.utc, "remarks": list(run.remarks)}


def ahead(definition: Definition, runs: Sequence[Planned], change: Planned | None = None) -> RenderableType:
    """Planned runs, in the zone and in UTC, each with what is unusual about it below; and one at a change of clocks."""
    width = max(len(run.local) for run in runs)
    lines = [Text(f"{definition.zone:<{width}}  UTC", "bold")]
    later = [change] if change and change.at_ms > runs[-1].at_ms else []
    for run in (*runs, *later):
        if run in later:
            lines.append(Text("when the clocks are changed next:", "dim"))
        lines.append(Text(f"{run.local:<{width}}  {run.utc}"))
        lines += [Text(f"    {remark}", "yellow") for remark in run.remarks]
    return Group(*lines)


def _status(state: State) -> dict[str, Any]:
    return {
        "name": state.name, "status": str(state.status), "note": state.note, "by": state.by, "since_ms": state.since_ms,
        "revision": state.revision, "cursor_ms": state.cursor_ms, "failures": state.failures,
        "waiting": [item.planned_ms for item in state.waiting],
        "running": [{"task": run.task_id, "planned_ms": run.planned_ms, "status": run.status} for run in state.running],
    }  # fmt: skip


def public(state: State, now: int, events: Sequence[Event]) -> dict[str, Any]:
    """Everything about one, JSON-ready."""
    return {
        **_status(state),
        "next_ms": _next(state, now),
        "definition": json.loads(state.definition.to_json()),
        "history": [vars(event) for event in events],
    }


def shown(state: State, now: int, events: Sequence[Event]) -> RenderableType:
    """Everything about one, for a person."""
    made = Table.grid(padding=(0, 2))
    for name, text in _facts(state, now):
        made.add_row(Text(name, "dim"), foreign(text))
    lines: list[Row] = [[local(event.at_ms), *_told(state.definition, event)] for event in events]
    history: list[RenderableType] = [Text(""), listing(["when", "what", "planned", "…"], lines)] if lines else []
    return Group(made, *history)


def _facts(state: State, now: int) -> list[tuple[str, str]]:
    definition = state.definition
    note = f": {state.note}" if state.note else ""
    at = _next(state, now)
    return [
        ("schedule", f"{state.name}, revision {state.revision}"),
        ("status", f"{state.status}, by {state.by} since {local(state.since_ms)}{note}"),
        ("next run", preview.local(at, definition.calendar.zone) + f", in {span(at - now)}" if at else "—"),
        *([("clock", _ahead(state, now))] if state.cursor_ms > now + 60_000 else []),
        ("runs", f"{definition.workflow}@{definition.version} {definition.profile}".strip()),
        ("arguments", brief(definition.args)),
        ("when", _when(definition)),
        ("missed", _catch_up(definition)),
        ("overlap", _overlap(definition)),
        ("limits", _limits(definition)),
        ("running", ", ".join(f"{run.task_id} ({run.status})" for run in state.running) or "—"),
        ("waiting", ", ".join(preview.local(w.planned_ms, definition.calendar.zone) for w in state.waiting) or "—"),
        ("failures", f"{state.failures} in a row" if state.failures else "—"),
    ]


def _ahead(state: State, now: int) -> str:
    return f"the store's clock was put back by {span(state.cursor_ms - now)}: `koala schedule enable` begins anew"


def _when(definition: Definition) -> str:
    crons = " or ".join(definition.cron)
    every = f"every {span(definition.every_ms)}" if definition.every_ms else ""
    at = ", ".join(preview.local(at, definition.calendar.zone) for at in definition.at_ms)
    without = f", without {', '.join(definition.exclude)}" if definition.exclude else ""
    here = definition.calendar.zone
    begin = f", from {preview.local(definition.start_ms, here)}" if definition.start_ms else ""
    end = f", until {preview.local(definition.end_ms, here)}" if definition.end_ms else ""
    return f"{crons or every or at} ({definition.zone}){begin}{end}{without}"


def _catch_up(definition: Definition) -> str:
    window = f"within {span(definition.window_ms)}"
    if definition.catch_up is CatchUp.SKIP:
        return f"skipped when more than {span(definition.grace_ms)} late"
    if definition.catch_up is CatchUp.LATEST:
        return f"the latest {window}"
    return f"at most {definition.catch_up_max} {window}, the {definition.catch_up_order} first"


def _overlap(definition: Definition) -> str:
    bounded = definition.overlap in (Overlap.ALLOW, Overlap.QUEUE_ALL)
    return f"{definition.overlap}, at most {definition.overlap_max}" if bounded else str(definition.overlap)


def _limits(definition: Definition) -> str:
    parts = [
        f"deadline {span(definition.deadline_ms)}" if definition.deadline_ms else "",
        f"jitter {span(definition.jitter_ms)}" if definition.jitter_ms else "",
        f"paused after {definition.pause_after} failures in a row" if definition.pause_after else "",
    ]
    return ", ".join(filter(None, parts)) or "—"


def _told(definition: Definition, event: Event) -> list[Text | str]:
    """What happened, what it was about, and more."""
    fields, here = event.data, definition.calendar.zone
    planned_ms, to = fields.get("planned", 0), fields.get("to", 0)
    when = preview.local(planned_ms, here) if planned_ms else "—"
    many = f"{fields['count']} until {preview.local(to, here)}" if fields.get("count", 1) > 1 else ""
    more = filter(None, (many, fields.get("task", ""), fields.get("by", ""), fields.get("why", "")))
    return [Text(event.outcome, STATUS_STYLES.get(event.outcome, "")), when, foreign(" ".join(map(str, more)))]
