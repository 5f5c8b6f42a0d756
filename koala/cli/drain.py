"""`koala drain`: let workers finish what they have and take nothing more."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.live import Live
from rich.spinner import Spinner
from rich.text import Text

from koala import switches, why
from koala.cli import options
from koala.cli.output import answer, err, say
from koala.cli.session import session
from koala.cli.text import visible
from koala.cli.workers import Seat, seats
from koala.errors import InvalidArguments, NotFound
from koala.exits import Exit
from koala.store import OUTAGE, Store

PACE_S = 0.2


def drain(
    worker: Annotated[str, typer.Argument(metavar="[WORKER]", help="A worker's id, as `koala workers` shows it.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="Every worker that is there now.")] = False,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until nothing runs there any more.")] = False,
    timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="With --wait: how long. 0: without end.")
    ] = 0,
    why_: options.Why = "",
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Let a worker finish what it does and take nothing more.

    Its tasks stop at their next step and go on elsewhere; no effect is cut, no task loses an attempt.

    Then the worker ends with 0: to have it back, start a new one. Until then `koala resume --worker ID` takes it back.
    Ends with 6 when --wait ran out of time; the drain goes on.

    Example: koala drain b2-4f1c9e --wait
    """
    if bool(worker) == all_:
        raise InvalidArguments("name one worker, or say --all")
    if timeout and not wait:
        raise InvalidArguments("--timeout goes with --wait")
    who = options.who(as_)
    with session() as now:
        names = _workers(now.store, worker)
        changed = [name for name in names if switches.turn_on(now.store, switches.name("worker", name), who, why_)]
        left = _wait(now.store, names, timeout or None) if wait else _busy(now.store, names)
    ran_out = wait and bool(left)
    record = {"workers": names, "changed": changed, "busy": [seat.public() for seat in left]}
    answer(record, _outcome(names, left, waited=wait), as_json)
    if ran_out:
        raise typer.Exit(Exit.WAITING)


def _workers(store: Store, worker: str) -> list[str]:
    """The named worker, or all live ones. Raises NotFound."""
    live = sorted({seat.worker for seat in seats(why.look(store))})
    if worker and worker not in live:
        known = ", ".join(live) or "none"
        raise NotFound(f"there is no live worker {worker!r} (there: {known})")
    return [worker] if worker else live


def _busy(store: Store, names: list[str]) -> list[Seat]:
    """The slots of these workers that still hold a lease."""
    return [seat for seat in seats(why.look(store)) if seat.worker in names and seat.state == "busy"]


def _outcome(names: list[str], left: list[Seat], *, waited: bool) -> str:
    if not names:
        return "no worker is there"
    what = f"draining {', '.join(names)}"
    if left:
        still = "still running" if waited else "running to their next step"
        return f"{what}; {still}: {', '.join(seat.task for seat in left)}"
    return f"{what}; nothing runs there"


def _wait(store: Store, names: list[str], timeout_s: float | None) -> list[Seat]:
    """The slots that still run when nothing does any more, or the time is over."""
    end = time.monotonic() + timeout_s if timeout_s else None
    left, told = _busy(store, names), ""
    with Live(_spinner(left), console=err(), transient=True, auto_refresh=err().is_terminal) as live:
        while left and (end is None or time.monotonic() < end):
            live.update(_spinner(left))
            if not err().is_terminal and _text(left) != told:
                told = _text(left)
                say(told)
            time.sleep(PACE_S)
            left = _again(store, names, left)
    return left


def _again(store: Store, names: list[str], last: list[Seat]) -> list[Seat]:
    """What runs now; the same as before while the store is away."""
    try:
        return _busy(store, names)
    except OUTAGE:
        return last


def _text(left: list[Seat]) -> str:
    return f"waits for {', '.join(f'{seat.task} on {seat.slot}' for seat in left)}"


def _spinner(left: list[Seat]) -> Spinner:
    return Spinner("dots", text=Text(visible(_text(left))))
