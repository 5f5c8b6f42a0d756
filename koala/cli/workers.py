"""`koala workers`: the slots of the pool, by worker."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from koala import why
from koala.cli import options
from koala.cli.output import Row, data, listing, out, say
from koala.cli.session import session
from koala.cli.text import foreign
from koala.cli.times import ago
from koala.why import Facts

STATES = {
    "busy": "bold green",
    "idle": "",
    "draining": "yellow",
    "on trial": "cyan",
    "resting": "red",
    "starting": "cyan",
}
"""What a slot does: runs a task, waits for one, takes no more, waits for a canary, takes none since browsers die or do
not start there, takes none yet."""


@dataclass(frozen=True)
class Seat:
    """One live slot and what it holds."""

    slot: str
    worker: str
    state: str
    accepting: bool
    draining: bool
    task: str
    resource: str
    since_ms: int
    seen_ms: int
    runs: list[str]
    facts: dict[str, str]

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        return vars(self)


def seats(facts: Facts) -> list[Seat]:
    """All live slots, by worker and slot."""
    held = {lease.get("slot", ""): (resource, lease) for resource, lease in facts.leases.items()}
    found = [_seat(slot, facts, *held.get(slot["id"], ("", {}))) for slot in facts.slots]
    return sorted(found, key=lambda seat: (seat.worker, seat.slot))


def _idle(slot: dict[str, str], accepting: bool) -> str:
    if not accepting:
        troubled = any(slot.get(name, "0") != "0" for name in ("crashing", "no_browser"))
        return "resting" if troubled else "starting"
    return "on trial" if slot.get("trial") == "1" else "idle"


def _seat(slot: dict[str, str], facts: Facts, resource: str, lease: dict[str, str]) -> Seat:
    accepting, draining = slot.get("accepting") == "1", facts.drains(slot)
    idle = "draining" if draining else _idle(slot, accepting)
    return Seat(
        slot=slot["id"],
        worker=slot.get("worker", ""),
        state="busy" if lease else idle,
        accepting=accepting,
        draining=draining,
        task=lease.get("task", ""),
        resource=resource,
        since_ms=int(lease.get("since_ms", 0)),
        seen_ms=int(slot.get("seen_ms", 0)),
        runs=sorted(facts.runs[slot["class"]]),
        facts={name: value for name, value in sorted(slot.items()) if name not in ("id", "worker")},
    )


def workers(as_json: options.Json = False) -> None:
    """Show each worker's slots and what they run.

    Example: koala workers
    """
    with session() as now:
        facts = why.look(now.store)
    found = seats(facts)
    if as_json:
        data([{"worker": name, "slots": [seat.public() for seat in group]} for name, group in _grouped(found)])
    elif found:
        out().print(_listed(found, facts.now_ms))
    else:
        say("no worker is there")


def _grouped(found: list[Seat]) -> list[tuple[str, list[Seat]]]:
    return [(name, list(group)) for name, group in groupby(found, key=lambda seat: seat.worker)]


def _listed(found: list[Seat], now_ms: int) -> RenderableType:
    rows: list[Row] = [
        [
            foreign("" if number else name, "bold"),
            foreign(seat.slot.removeprefix(f"{name}-")),
            _state(seat),
            ago(seat.since_ms, now_ms) if seat.task else "",
            foreign(seat.task),
            foreign(seat.resource.removeprefix("profile:") if seat.resource.startswith("profile:") else ""),
            ago(seat.seen_ms, now_ms),
            foreign(seat.facts.get("class", "")[:6], "dim"),
        ]
        for name, group in _grouped(found)
        for number, seat in enumerate(group)
    ]
    return listing(["worker…", "slot", "state", ">for", "task", "profile…", ">seen", "class"], rows)


def _state(seat: Seat) -> Text:
    last = ", its last" if seat.state == "busy" and seat.draining else ""
    return Text(seat.state + last, STATES[seat.state])
