"""`koala schedule …`: what runs when, and by which policies."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from koala import client, reading, tasks
from koala.cli import options
from koala.cli import schedule_view as view
from koala.cli.output import answer, data, done, out, say
from koala.cli.session import Session, configured, session
from koala.cli.submit import workflows
from koala.cli.times import moment
from koala.errors import InvalidArguments
from koala.schedules import asking, file, preview, record, switching
from koala.schedules.definition import Definition
from koala.schedules.errors import InvalidSchedule
from koala.schedules.file import Fault
from koala.schedules.record import Put
from koala.schedules.state import Status
from koala.tasks import Submission

app = typer.Typer(no_args_is_help=True)
TEN = 10


@app.callback()
def _group() -> None:
    """Recurring tasks: apply a file of them, enable, look ahead."""


Name = Annotated[str, typer.Argument(metavar="NAME", help="The schedule's name.", show_default=False)]
Number = Annotated[int, typer.Option("--count", metavar="N", min=1, max=1000, help="How many runs.")]


@app.command("apply")
def apply(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A schedules.toml.", show_default=False)],
    remove: Annotated[bool, typer.Option("--remove", help="Remove the schedules that are not in FILE.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check FILE, change nothing.")] = False,
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Check a file of schedules as a whole, and store what it says.

    A new schedule is off until it is enabled. A changed one goes on with what is planned from now on: nothing of the
    past is run again. Nothing is stored when anything in FILE is wrong; the store is not asked then.

    Example: koala schedule apply schedules.toml
    """
    who = options.who(as_)
    found, faults = file.load(path, _checker())
    _refuse(path, faults, as_json=as_json)
    with session() as now:
        _refuse(path, _forbidden(now, path, found), as_json=as_json)
        gone = sorted(set(record.names(now.store)) - {definition.name for definition in found})
        done = {item.name: _put(now, item, who, dry_run=dry_run) for item in found}
        removed = [name for name in gone if remove and not dry_run and record.drop(now.store, name)]
    for name, text in done.items():
        say(f"{name}: {text}")
    for name in gone:
        say(f"{name}: {'removed' if name in removed else f'is not in {path}; --remove removes it'}", style="yellow")
    if as_json:
        data({"schedules": done, "missing": gone, "removed": removed})


def _checker() -> file.Check:
    """Checks as `koala submit` does."""
    config = configured()
    registry = workflows(config)

    def check(workflow: str, args: dict[str, Any], profile: str) -> Submission:
        given = client.prepare(registry, workflow, args, profile=profile)
        tasks.fields(given, config.payload_bytes)
        return given

    return check


def _refuse(path: Path, faults: list[Fault], *, as_json: bool) -> None:
    """Tell every fault with its line, then end. Does nothing without faults."""
    if not faults:
        return
    for fault in faults:
        say(f"{path}:{fault.line}: {fault}" if fault.line else f"{path}: {fault}", style="red")
    if as_json:
        data({"faults": [vars(fault) for fault in faults]})
    raise InvalidSchedule(f"{path}: {len(faults)} fault{'s' * (len(faults) > 1)}, nothing was changed")


def _forbidden(now: Session, path: Path, found: list[Definition]) -> list[Fault]:
    """Changes of schedules that are enabled to what could not be enabled."""
    enabled = set(record.names(now.store)) - set(record.names(now.store, status=Status.OFF))
    now_ms = tasks.now_ms(now.store)
    told = {item.name: switching.forbidden(item, now_ms) for item in found if item.name in enabled}
    text = reading.text_of(path)
    return [Fault(file.line_of(text, name, "deadline"), name, f"it {why}") for name, why in told.items() if why]


def _put(now: Session, definition: Definition, who: str, *, dry_run: bool) -> str:
    if dry_run:
        return "is right"
    return _done(switching.apply(now.store, definition, who))


def _done(put: Put) -> str:
    if put.created:
        return "new, and off: look at it with `preview`, turn it on with `enable`"
    return f"changed, revision {put.revision}" if put.changed else "as it was"


@app.command("list")
def list_(as_json: options.Json = False) -> None:
    """List all schedules with their next runs.

    Example: koala schedule list
    """
    with session() as now:
        rows = [view.row(now.store, seen) for seen in record.every(now.store)]
    if as_json:
        data([row.public() for row in rows])
    elif rows:
        out().print(view.listed(rows))
    else:
        say("no schedules: `koala schedule apply schedules.toml` makes them")


@app.command("show")
def show_(name: Name, as_json: options.Json = False) -> None:
    """Show what a schedule is, how it is, and what became of its last occurrences.

    Example: koala schedule show nightly-report
    """
    with session() as now:
        seen, state = record.look(now.store, name)
        events = record.history(now.store, name)
    if as_json:
        data(view.public(state, seen.now_ms, events))
    else:
        out().print(view.shown(state, seen.now_ms, events))


@app.command("preview")
def preview_(
    name: Name,
    count: Number = TEN,
    from_: Annotated[str, typer.Option("--from", metavar="TIME", help="Look ahead from then (ISO; local).")] = "",
    as_json: options.Json = False,
) -> None:
    """Show the next runs in the schedule's zone and in UTC, and what changes of the clocks do to them.

    Example: koala schedule preview nightly-report --from 2027-03-25T00:00
    """
    begin = moment("--from", from_) if from_ else None
    with session() as now:
        seen, state = record.look(now.store, name)
    after = int(begin.timestamp() * 1000) - 1 if begin else max(seen.now_ms, state.cursor_ms)
    runs = preview.upcoming(state.definition, after, count)
    if as_json:
        data([view.planned(run) for run in runs])
    elif runs:
        out().print(view.ahead(state.definition, runs, preview.at_change(state.definition, after)))
    else:
        say(f"schedule {name} has no planned time left", style="yellow")


@app.command("enable")
def enable(
    name: Name,
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Turn a schedule on, from now on; before that show its next ten runs.

    Refused when its deadline reaches into the next run and runs must not overlap.

    Example: koala schedule enable nightly-report
    """
    who = options.who(as_)
    with session() as now:
        seen, state = record.look(now.store, name)
        runs = preview.upcoming(state.definition, seen.now_ms, TEN)
        doubt = preview.too_long(state.definition, seen.now_ms)
        if runs and not as_json:
            out().print(view.ahead(state.definition, runs, preview.at_change(state.definition, seen.now_ms)))
        changed = switching.enable(now.store, name, who)
    if doubt and state.definition.overlap != "allow":
        say(f"schedule {name} {doubt}", style="yellow")
    record_ = {"name": name, "changed": changed, "next": [view.planned(run) for run in runs], "doubt": doubt}
    answer(record_, f"schedule {name} {'is' if changed else 'was'} on", as_json)


@app.command("disable")
def disable(name: Name, why: options.Why = "", as_: options.As = "", as_json: options.Json = False) -> None:
    """Turn a schedule off. What waits for its turn is given up, what runs goes on.

    Example: koala schedule disable nightly-report
    """
    with session() as now:
        changed = switching.disable(now.store, name, options.who(as_), why)
    answer({"name": name, "changed": changed}, f"schedule {name} {'is' if changed else 'was'} off", as_json)


@app.command("pause")
def pause(name: Name, why: options.Why = "", as_: options.As = "", as_json: options.Json = False) -> None:
    """Hold a schedule, with a note. What is planned meanwhile is not run; what waits for its turn keeps it.

    Example: koala schedule pause nightly-report --why "the shop is closed"
    """
    with session() as now:
        changed = switching.pause(now.store, name, options.who(as_), why)
    answer({"name": name, "changed": changed}, f"schedule {name} {'is' if changed else 'was'} paused", as_json)


@app.command("resume")
def resume(name: Name, as_: options.As = "", as_json: options.Json = False) -> None:
    """Go on with a schedule that was paused, by a person or after failures, with what is planned from now on.

    Example: koala schedule resume nightly-report
    """
    with session() as now:
        changed = switching.resume(now.store, name, options.who(as_))
    text = f"schedule {name} goes on" if changed else f"schedule {name} was not paused"
    answer({"name": name, "changed": changed}, text, as_json)


@app.command("run-now")
def run_now(
    name: Name,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also while an earlier run has not ended.")] = False,
    as_json: options.Json = False,
) -> None:
    """Start a run now, besides what is planned; the task's id is on standard output.

    Example: koala schedule run-now nightly-report
    """
    with session() as now:
        task_id = asking.run_now(now.store, name, anyway=anyway)
    with done(f"task {task_id} is accepted"):
        if as_json:
            data({"name": name, "task": task_id})
            return
        out().print(task_id)
    say(f"accepted: `koala task {task_id}` shows it")


@app.command("backfill")
def backfill(
    name: Name,
    from_: Annotated[str, typer.Option("--from", metavar="TIME", help="The first moment (ISO; local).")],
    to: Annotated[str, typer.Option("--to", metavar="TIME", help="The last moment. Default: now.")] = "",
    most: Annotated[int, typer.Option(min=1, max=1000, help="Refuse when more are planned in between.")] = 100,
    as_json: options.Json = False,
) -> None:
    """Run the planned times of a stretch of the past that have not become a task, one after another.

    They start before nothing that is due; all at once where the schedule's policy for overlaps is `allow`.

    Example: koala schedule backfill nightly-report --from 2027-02-01 --to 2027-02-07T12:00
    """
    low = int(moment("--from", from_).timestamp() * 1000)
    with session() as now:
        high = int(moment("--to", to).timestamp() * 1000) if to else tasks.now_ms(now.store)
        if high < low:
            raise InvalidArguments("--to is before --from")
        _, state = record.look(now.store, name)
        asked = asking.backfill(now.store, name, low, high, most)
    times = [preview.local(at, state.definition.calendar.zone) for at in asked]
    for time in times if not as_json else ():
        say(f"  {time}")
    said = f"{len(asked)} wait for their turn" if asked else "nothing to do: each planned time there has a task"
    answer({"name": name, "planned_ms": asked, "planned": times}, said, as_json)
