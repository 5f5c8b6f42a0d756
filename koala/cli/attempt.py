"""`koala attempt gone`: an operator's word that nothing of an attempt runs any more."""

from __future__ import annotations

import re
from itertools import islice
from typing import Annotated

import typer

from koala import keys, leases, tasks
from koala.cli import options
from koala.cli.output import answer
from koala.cli.session import session
from koala.errors import InvalidArguments, NotFound, Refused
from koala.store import Store

app = typer.Typer(no_args_is_help=True)

FENCE = re.compile(r"\d+\.\d+")
PAGE = 500


@app.callback()
def _group() -> None:
    """Attempts: say that one is gone for good."""


@app.command("gone")
def gone(
    fence: Annotated[
        str,
        typer.Argument(metavar="FENCE", help="The attempt, as `koala task` shows it.", show_default=False),
    ],
    because: Annotated[
        str, typer.Option(metavar="TEXT", help="How you know it; kept with your name.", show_default=False)
    ],
    task: Annotated[str, typer.Option(metavar="ID", help="Its task, where you know it.")] = "",
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Say that every process of an attempt is gone, where Koala cannot see it: a machine that is off.

    A task with an unsettled effect may act again on this word. An unreachable machine is not a gone one.

    Example: koala attempt gone 1764434000000.17 --because "host b2 is powered off"
    """
    if not FENCE.fullmatch(fence):
        raise InvalidArguments(f"{fence!r} is no fence: it looks like 1764434000000.17")
    if not because.strip():
        raise InvalidArguments("--because must say how you know that it is gone")
    who = options.who(as_)
    with session() as now:
        owner = tasks.get(now.store, task).id if task else _owner(now.store, fence)
        _refuse_if_held(now.store, fence)
        first = leases.gone(now.store, owner, fence, who, because)
        if first is None:
            raise NotFound(f"task {owner} has no attempt {fence}: `koala task {owner}` lists them")
    said = "reported gone" if first else "was reported gone before; that report stays"
    answer({"fence": fence, "task": owner, "first": first}, f"attempt {fence} of task {owner} {said}", as_json)


def _owner(store: Store, fence: str) -> str:
    """The task of an attempt, found by looking at all. Raises NotFound."""
    found = store.client.scan_iter(match=keys.attempts("*"), count=PAGE)
    while page := list(islice(found, PAGE)):
        pipe = store.client.pipeline(transaction=False)
        for key in page:
            pipe.hexists(key, fence)
        for key, has in zip(page, pipe.execute(), strict=True):
            if has:
                return str(key).removeprefix(keys.attempts(""))
    raise NotFound(f"no task has an attempt {fence}: `koala task ID` lists a task's attempts")


def _refuse_if_held(store: Store, fence: str) -> None:
    """An unexpired lease is the proof that the attempt lives; one that has expired is never renewed again."""
    for lease in leases.held(store).values():
        if lease.get("fence") == fence:
            raise Refused(f"attempt {fence} holds its lease (worker {lease.get('worker')}): it is not gone")
