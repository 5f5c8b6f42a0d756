"""`koala status`: the pool at a glance."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from koala import counts, keys, reviews, starts, tasks, timeline, why
from koala.cli import options
from koala.cli.output import STATUS_STYLES, Row, listing, show
from koala.cli.session import Session, session
from koala.cli.starts import failing
from koala.cli.story import sentence
from koala.cli.switch import described
from koala.cli.text import brief, foreign, visible
from koala.cli.times import ago
from koala.cli.workers import Seat, seats
from koala.counts import Counts
from koala.redaction import address
from koala.reviews import Question
from koala.starts import Tally
from koala.store import SCHEMA
from koala.switches import Switch
from koala.tasks import Task
from koala.why import Facts, Why

EXPLAINED = 500
"""Waiting tasks whose reason is looked at; the others are only counted."""
RUNNING = 20
"""Running tasks that are listed."""


@dataclass(frozen=True)
class Sight:
    """The pool, looked at within a few milliseconds."""

    address: str
    redis: str
    counts: dict[str, int]
    facts: Facts
    leads_since_ms: int
    waiting: list[Task]
    reasons: dict[str, Why]
    running: list[Task]
    last: dict[str, str]
    questions: list[Question]
    starts: dict[str, Tally]
    by_image: dict[str, Counts]
    """What each release has done, the latest last."""

    @property
    def seats(self) -> list[Seat]:
        """The live slots."""
        return seats(self.facts)

    @property
    def switches(self) -> list[Switch]:
        """What is paused, and which live workers drain."""
        live = {f"worker:{seat.worker}" for seat in self.seats}
        on = self.facts.switches.values()
        return [item for item in on if not item.name.startswith("worker:") or item.name in live]

    @property
    def waits(self) -> Counter[str]:
        """How many of the tasks that were looked at wait, by reason."""
        return Counter(str(self.reasons[task.id].reason) for task in self.waiting)

    @property
    def oldest(self) -> Task | None:
        """The task that has waited longest of those that could run by now."""
        return min(self.waiting, key=lambda task: task.created_ms, default=None)

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        oldest = self.oldest
        return {
            "store": {"address": self.address, "redis": self.redis, "schema": SCHEMA, "durable": True},
            "tasks": self.counts,
            "waiting": dict(self.waits),
            "oldest_waiting": oldest and {**oldest.public(), "why": vars(self.reasons[oldest.id])},
            "slots": [seat.public() for seat in self.seats],
            "running": [{**task.public(), "last": self.last[task.id]} for task in self.running],
            "switches": [vars(item) for item in self.switches],
            "reviews": [question.id for question in self.questions],
            "scheduler": self.facts.leader or None,
            "starts": {program: tally.public() for program, tally in self.starts.items()},
            "counts": {image: found.public() for image, found in self.by_image.items()},
        }


def gather(now: Session, there: list[str]) -> Sight:
    """Read all of it; of the starts those on hosts that are `there`, all when that is empty. Redis errors pass."""
    store = now.store
    facts = why.look(store)
    ids = [*tasks.ids(store, "ready", limit=EXPLAINED), *tasks.ids(store, "handed")]
    waiting = [task for task in tasks.many(store, ids) if task.status in ("ready", "handed")]
    running = list(tasks.many(store, tasks.ids(store, "running", limit=RUNNING)))
    since = store.client.hget(keys.LEADER, "since_ms")
    return Sight(
        address=address(now.config.redis_url),
        redis=str(store.client.info("server")["redis_version"]),
        counts=tasks.counts(store),
        facts=facts,
        leads_since_ms=int(since or 0),
        waiting=waiting,
        reasons=why.explain(store, waiting, facts),
        running=running,
        last={task.id: _last(now, task) for task in running},
        questions=reviews.open_questions(store),
        starts={program: tally.on(there) if there else tally for program, tally in starts.seen(store).items()},
        by_image=counts.by_image(store),
    )


def _last(now: Session, task: Task) -> str:
    """What a task did last, with its progress."""
    rows: Any = now.store.client.xrevrange(keys.timeline(task.id), count=1)
    said = [
        sentence(timeline.Event(str(id_), int(row["at"]), row["action"], json.loads(row["data"]))) for id_, row in rows
    ]
    progress = json.loads(task.progress) if task.progress else {}
    done = [f"({brief(progress.get('done'), 20)} of {brief(progress.get('of'), 20)})"] if progress else []
    return " ".join([*said, *done])


def status(
    as_json: options.Json = False,
    there: Annotated[
        str, typer.Option(metavar="HOSTS", help="The hosts that exist, with commas: failed starts on others are over.")
    ] = "",
) -> None:
    """Show the pool at a glance.

    Tasks, what waits and why, slots, switches, reviews, scheduler, store.

    Example: koala status
    """
    with session() as now:
        seen = gather(now, [name for name in there.split(",") if name])
    show(seen.public, lambda: _card(seen), as_json)


def _card(seen: Sight) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_column(style="dim", no_wrap=True)
    rows.add_row("tasks", _counts(seen.counts))
    if seen.waiting:
        rows.add_row("waiting", _waiting(seen))
    if seen.oldest:
        rows.add_row("oldest", _oldest(seen, seen.oldest))
    rows.add_row("slots", _slots(seen.seats))
    rows.add_row("reviews", _reviews(seen))
    for item in seen.switches:
        rows.add_row("switch", foreign(described(item, seen.facts.now_ms), "yellow"))
    rows.add_row("scheduler", _scheduler(seen))
    for text in failing(seen.starts, seen.facts.now_ms):
        rows.add_row("starts", text)
    rows.add_row("store", Text(f"durable: Redis {visible(seen.redis)} at {visible(seen.address)}"))
    return Group(rows, *([Text(), _running(seen)] if seen.running else []))


def _counts(counts: dict[str, int]) -> Text:
    shown = [Text(f"{number} {status}", STATUS_STYLES[status]) for status, number in counts.items() if number]
    return Text(" · ").join(shown) if shown else Text("none yet")


def _waiting(seen: Sight) -> Text:
    text = " · ".join(f"{number} {reason}" for reason, number in seen.waits.most_common())
    more = seen.counts["ready"] + seen.counts["handed"] - len(seen.waiting)
    return Text(text + (f" · {more} more" if more > 0 else ""))


def _oldest(seen: Sight, task: Task) -> Text:
    reason = seen.reasons[task.id]
    waited = ago(task.created_ms, seen.facts.now_ms)
    return foreign(f"{task.id} for {waited}: {reason.text}")


def _slots(found: list[Seat]) -> Text:
    if not found:
        return Text("no worker is there", "bold red")
    states = Counter(seat.state for seat in found)
    told = ", ".join(f"{number} {state}" for state, number in states.most_common())
    workers = len({seat.worker for seat in found})
    return Text(f"{len(found)} on {_counted(workers, 'worker')}: {told}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _reviews(seen: Sight) -> Text:
    if not seen.questions:
        return Text("none open")
    oldest = ago(seen.questions[0].asked_ms, seen.facts.now_ms)
    return Text(f"{len(seen.questions)} open, the oldest for {oldest}: `koala review list`", "bold magenta")


def _scheduler(seen: Sight) -> Text:
    if not seen.facts.leader:
        return Text("none leads", "bold red")
    return foreign(f"{seen.facts.leader} leads for {ago(seen.leads_since_ms, seen.facts.now_ms)}")


def _running(seen: Sight) -> RenderableType:
    held = {seat.task: seat.since_ms for seat in seen.seats if seat.task}
    rows: list[Row] = [
        [
            foreign(task.id, "bold green"),
            foreign(task.kind),
            foreign(task.profile),
            ago(held.get(task.id, 0), seen.facts.now_ms),
            Text(seen.last[task.id]),
        ]
        for task in seen.running
    ]
    return listing(["running", "workflow…", "profile…", ">for", "last…"], rows)
