"""`koala submit`: accept a task, and wait for it when asked."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from koala import canary, client, tasks
from koala.cli.arguments import gather
from koala.cli.options import Json
from koala.cli.output import data, done, out, say
from koala.cli.session import Session, configured, session
from koala.cli.times import moment, moment_or_span, named
from koala.cli.watch import verdict, wait
from koala.errors import InvalidArguments, StoreAway
from koala.settings import Settings
from koala.store import OUTAGE
from koala.tasks import Accepted, Submission
from koala.why import why
from koala.workflow import Registry, load


def submit(
    workflow: Annotated[
        str,
        typer.Argument(metavar="WORKFLOW", help="Its name; the newest version is taken.", show_default=False),
    ],
    arg: Annotated[
        list[str] | None,
        typer.Option("--arg", metavar="NAME=VALUE", help="One argument, as JSON or text. Repeatable."),
    ] = None,
    args: Annotated[
        str,
        typer.Option("--args", metavar="JSON", help="All arguments: JSON, @FILE, or - for standard input."),
    ] = "",
    profile: Annotated[str, typer.Option(metavar="NAME", help="The browser identity to run in.")] = "",
    key: Annotated[str, typer.Option(metavar="KEY", help="The same key again makes no second task.")] = "",
    at: Annotated[str, typer.Option(metavar="TIME", help="Start then at the earliest (ISO; local).")] = "",
    deadline: Annotated[
        str, typer.Option(metavar="TIME", help="End as expired then: ISO, or 90s, 30m, 2h, 1d from now.")
    ] = "",
    priority: Annotated[int, typer.Option(min=-9, max=9, help="Higher is served first.")] = 0,
    wait_: Annotated[bool, typer.Option("--wait", help="Show progress, then the result.")] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --wait: how long. 0: without end.")
    ] = 0,
    as_json: Json = False,
) -> None:
    """Hand in a task, and wait for its result with --wait.

    When this returns the task is stored for good, and its id is on standard output. With --wait the result
    is, and the exit code is 5 when it ended otherwise than done, 6 when it waits for a person or the time ran
    out. Secrets belong into `--args -`: a command line can be read by others.

    Example: koala submit shop.order --profile alice --arg sku=K-100 --wait
    """
    if timeout and not wait_:
        raise InvalidArguments("--timeout goes with --wait")
    config = configured()
    registry = workflows(config)
    chosen = registry.newest(workflow)
    starts, ends = _times(at, deadline)
    given = client.prepare(
        registry, chosen, gather(chosen, arg or [], args), profile=profile, key=key, at=starts,
        deadline=ends, priority=priority,
    )  # fmt: skip
    with session() as now:
        accepted = _accept(now, given)
        with done(f"task {accepted.id} is accepted"):
            if not wait_:
                _tell(now, accepted, starts, as_json=as_json)
                return
            say(f"{accepted.id} {_known(accepted, starts)}")
            code = _watch(now, accepted, timeout, as_json=as_json)
        raise typer.Exit(code)


def workflows(config: Settings) -> Registry:
    """The workflows, also those in the working directory, as `python -m worker` finds them; and the canary."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)
    found = load(config.modules)
    found.add(canary.canary)
    return found


def _times(at: str, deadline: str) -> tuple[datetime | None, datetime | None]:
    starts = moment("--at", at) if at else None
    return starts, moment_or_span("--deadline", deadline) if deadline else None


def _accept(now: Session, given: Submission) -> Accepted:
    """Store it, under an id made here: asked again after a lost answer, the store makes no second one."""
    made = replace(given, id=tasks.new_id())
    for last in (False, True):
        try:
            return tasks.submit(
                now.store,
                made,
                payload_bytes=now.config.payload_bytes,
                dedupe_days=now.config.keep_ledger_days,
            )
        except StoreAway as error:
            if last:
                raise StoreAway(f"{error}. It may be accepted as {made.id}: see `koala task {made.id}`") from error
    raise AssertionError("the last try returns or raises")


def _tell(now: Session, accepted: Accepted, starts: datetime | None, *, as_json: bool) -> None:
    """The id first: it is accepted, whatever becomes of the look that follows."""
    if not as_json:
        out().print(accepted.id)
    try:
        task = tasks.get(now.store, accepted.id)
        status, waits_for = task.status, "" if task.ended or starts else f"; {why(now.store, task).text}"
    except OUTAGE:
        status, waits_for = "", "; the store does not answer now"
    if as_json:
        data({"id": accepted.id, "existing": accepted.existing, "status": status})
    else:
        say(", ".join(filter(None, (_known(accepted, starts), status))) + waits_for)


def _known(accepted: Accepted, starts: datetime | None) -> str:
    if accepted.existing:
        return "that key is known: this is its task"
    return f"accepted, starts at {named(starts)}" if starts else "accepted"


def _watch(now: Session, accepted: Accepted, timeout: float, *, as_json: bool) -> int:
    task = wait(now.store, accepted.id, timeout or None)
    code, text = verdict(task)
    record = task.public()
    if as_json:
        data({**record, "existing": accepted.existing})
    elif task.status == "done":
        data(record["result"])
    say(text)
    return code
