"""`koala tasks`, `task`, `cancel` and `retry`."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import RenderableType

from koala import keys, tasks, why
from koala.cli import options
from koala.cli.listing import newest
from koala.cli.output import STATUS_STYLES, Row, answer, data, listing, out, say
from koala.cli.session import session
from koala.cli.text import foreign
from koala.cli.times import ago
from koala.cli.view import card, gather
from koala.errors import InvalidArguments
from koala.tasks import Task
from koala.why import Why


def list_(
    status: Annotated[
        list[str] | None, typer.Option("--status", metavar="STATUS", help="Only these. Repeatable.")
    ] = None,
    workflow: Annotated[str, typer.Option(metavar="NAME", help="Only of this workflow.")] = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="Only of this profile.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 20,
    as_json: options.Json = False,
) -> None:
    """List tasks, newest first, and why each waits.

    Example: koala tasks --status ready --status review --profile alice
    """
    chosen = _statuses(status or [])
    with session() as now:
        found, cut = newest(now.store, chosen, limit, workflow=workflow, profile=profile)
        reasons = why.explain(now.store, found)
        now_ms = tasks.now_ms(now.store)
    if as_json:
        data([_row(task, reasons[task.id]) for task in found])
    elif found:
        out().print(_listed(found, reasons, now_ms))
    else:
        say("no such tasks")
    if cut:
        say("only the newest part of all tasks was looked at: narrow it with --status")


def _statuses(given: list[str]) -> list[str]:
    for status in given:
        if status not in keys.STATUSES:
            raise InvalidArguments(f"there is no status {status!r}: use {', '.join(keys.STATUSES)}")
    return list(dict.fromkeys(given)) or list(keys.STATUSES)


def _row(task: Task, reason: Why) -> dict[str, Any]:
    return {**task.public(), "why": vars(reason)}


def _listed(found: list[Task], reasons: dict[str, Why], now_ms: int) -> RenderableType:
    rows: list[Row] = [
        [
            foreign(task.id),
            foreign(task.status, STATUS_STYLES.get(task.status, "")),
            foreign(task.kind),
            foreign(task.profile),
            ago(task.created_ms, now_ms),
            foreign(_note(task, reasons[task.id]), "dim" if task.ended else ""),
        ]
        for task in found
    ]
    return listing(["id", "status", "workflow…", "profile…", ">age", "why…"], rows)


def _note(task: Task, reason: Why) -> str:
    """The last column: how it ended, or why it waits and its place in the lane."""
    ahead = f"{reason.ahead} ahead, " if reason.ahead else ""
    if task.status == "done":
        return ""
    return task.error or task.reason if task.ended else f"{ahead}{reason.text}"


def one(task_id: options.TaskId, as_json: options.Json = False) -> None:
    """Show one task: why it waits, timeline, effects, result, files.

    Example: koala task 0dn8k2v6w3c1x9q4ab
    """
    with session() as now:
        seen = gather(now, task_id)
    if as_json:
        data(seen.public())
    else:
        out().print(card(seen))


def cancel(
    task_id: options.TaskId, why_: options.Why = "", as_: options.As = "", as_json: options.Json = False
) -> None:
    """End a task.

    One that runs ends at its next step; an effect under way is settled first.

    Example: koala cancel 0dn8k2v6w3c1x9q4ab --why "ordered by phone"
    """
    who = options.who(as_)
    with session() as now:
        at_once = tasks.cancel(now.store, task_id, who, why_)
    text = "is cancelled" if at_once else "is cancelled at its next step, or when its effect is settled"
    answer({"id": task_id, "ended": at_once}, f"{task_id} {text}", as_json)


def retry(task_id: options.TaskId, as_: options.As = "", as_json: options.Json = False) -> None:
    """Start an ended task again from its checkpoints.

    It must be failed, dead, expired or cancelled.

    Example: koala retry 0dn8k2v6w3c1x9q4ab
    """
    who = options.who(as_)
    with session() as now:
        tasks.retry(now.store, task_id, who)
        reason = why.why(now.store, tasks.get(now.store, task_id))
    answer({"id": task_id, "why": vars(reason)}, f"{task_id} starts again; {reason.text}", as_json)
