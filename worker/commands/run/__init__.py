"""`python -m worker run …`: one workflow on this machine without the pool, while it is being written.

Effects are rehearsed: described and looked for, not done. `--act` does them for real, through a durable ledger. There
is one attempt, whatever the workflow's limits say; profiles, checkpoints and artifacts are in the user's own state
directory, not in KOALA_DATA.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
from typing import Any

from koala import ledger, logs, tasks
from koala.cli.arguments import gather
from koala.cli.failure import INTERRUPTED
from koala.cli.output import data, say
from koala.client import prepare
from koala.errors import Refused
from koala.exits import Exit
from koala.settings import Settings
from koala.tasks import Submission, Task
from worker import processes
from worker.commands import terminal
from worker.commands.run import earlier, target
from worker.commands.run.home import Home, home
from worker.commands.run.laptop import Laptop
from worker.commands.run.outcome import Outcome
from worker.commands.run.telling import Telling
from worker.place import Place

NAME = "laptop"


def add(commands: Any) -> None:
    """Add `run`."""
    run_ = commands.add_parser("run", help="run one workflow here, without the pool")
    run_.add_argument("target", help="FILE.py:NAME, MODULE:NAME or a workflow's name")
    run_.add_argument("--arg", action="append", default=[], metavar="NAME=VALUE", help="one argument; repeatable")
    run_.add_argument("--args", default="", metavar="JSON", help="all arguments; @FILE reads them, - from stdin")
    run_.add_argument("--profile", default="", help="the browser identity, of `profile list --laptop`; made when new")
    run_.add_argument("--headed", action="store_true", help="show the browser")
    run_.add_argument("--act", action="store_true", help="carry effects out; without it they are rehearsed")
    run_.add_argument("--keep", action="store_true", help="go on from the checkpoints of a run that failed or stopped")
    run_.add_argument("--json", action="store_true", dest="as_json", help="the outcome as JSON")


def run(config: Settings, given: argparse.Namespace) -> int:
    """Run it; the exit code. Raises KoalaError."""
    if given.headed and not terminal.has_display():
        raise Refused(f"{terminal.NO_DISPLAY}: leave --headed out, or come with `ssh -X`")
    found = target.find(given.target, config.modules)
    args = gather(found.workflow, given.arg, given.args)
    submission = prepare(found.registry, found.workflow, args, profile=given.profile)
    logs.configure("text", "warning")
    processes.set_child_subreaper()
    os.environ.setdefault("KOALA_LOG_LEVEL", "debug")  # the child's: a failure shows its traceback
    with home(KOALA_WORKFLOWS=found.modules, KOALA_HEADED=str(int(given.headed))) as here:
        if given.act and not here.durable:
            raise Refused("--act needs a durable store and there is no redis-server: apt-get install redis-server")
        place = Place(here.settings, here.store, here.volume, found.registry, NAME, NAME, rehearsal=not given.act)
        return asyncio.run(_run(here, place, submission, given))


async def _run(here: Home, place: Place, submission: Submission, given: argparse.Namespace) -> int:
    if here.durable:  # nobody else is here then
        earlier.clean(here)
    task, new = earlier.task_for(here.store, submission, keep=given.keep)
    telling = Telling(here.store, task.id)
    if not new:
        say(f"going on with an earlier run of the same (task {task.id})")
        telling.skip()
    earlier.tell_unsettled(here.store, task.id)
    laptop = Laptop(place, here.spare)
    async with terminal.on_stop(lambda: _stop(laptop)):
        task, parked = await laptop.run(telling)
    outcome = Outcome(here, _end(here, task, keep=given.keep), parked, telling.rehearsed, laptop.stop.is_set())
    return _told(outcome, given.as_json)


def _stop(laptop: Laptop) -> None:
    again = laptop.stop.is_set()
    say("it still ends: an effect that has begun is not cut" if again else "stopping at the next step …")
    laptop.stop.set()


def _end(here: Home, task: Task, *, keep: bool) -> Task:
    """A run that goes no further ends its task, unless something of it is still to be settled or kept."""
    waits = task.status == "review" or ledger.open_of_task(here.store, task.id)
    if not (task.ended or waits or keep):
        with contextlib.suppress(Refused):
            tasks.cancel(here.store, task.id, "koala run")
    return tasks.get(here.store, task.id)


def _told(outcome: Outcome, as_json: bool) -> int:
    if as_json:
        data(outcome.public())
    elif outcome.status == "done":
        data(outcome.result)
    if outcome.interrupted and not outcome.unsettled:
        return INTERRUPTED  # which is said where exit codes are
    say(outcome.verdict(), style="green" if outcome.exit is Exit.OK else "red")
    return int(outcome.exit)
