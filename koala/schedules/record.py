"""The stored side of schedules: reading records, and every way in which one changes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from koala import keys
from koala.errors import NotFound
from koala.schedules.definition import Definition, from_json
from koala.schedules.state import Run, Skipped, State, Status, Waiting
from koala.store import Store, to_lua

PAGE = 500


@dataclass(frozen=True)
class Seen:
    """A schedule's record as read, with the store's time and epoch then: a change has to name what it was made for."""

    name: str
    now_ms: int
    epoch: str
    record: dict[str, str]

    @property
    def turn(self) -> int:
        """The turn that was read."""
        return int(self.record["turn"])

    @property
    def next_ms(self) -> int:
        """When it is, or was, to be looked at next; 0 for never, and in a record that is not right."""
        text = self.record.get("next_ms", "")
        return int(text) if text.isdigit() else 0

    @property
    def late_ms(self) -> int:
        """By how much it is overdue to be looked at; 0 when it is not."""
        return max(0, self.now_ms - self.next_ms) if self.next_ms else 0


def names(store: Store, *, status: Status | None = None) -> list[str]:
    """All schedules by name, or those of a status."""
    low, high = (status.code, status.code) if status else ("-inf", "+inf")
    return sorted(str(name) for name in store.client.zrangebyscore(keys.SCHEDULES, low, high))


def due(store: Store, now: int, limit: int) -> list[str]:
    """The schedules to be looked at by now, the longest overdue first."""
    return [str(name) for name in store.client.zrangebyscore(keys.SCHEDULES_DUE, "-inf", now, start=0, num=limit)]


def see(store: Store, wanted: Sequence[str]) -> list[Seen]:
    """Their records in one round trip; names that are not there are left out."""
    pipe = store.client.pipeline(transaction=False)
    pipe.time()
    pipe.get(keys.EPOCH)
    for name in wanted:
        pipe.hgetall(keys.schedule(name))
    (seconds, micros), epoch, *records = pipe.execute()
    now = int(seconds) * 1000 + int(micros) // 1000
    found = zip(wanted, records, strict=True)
    return [Seen(name, now, str(epoch), record) for name, record in found if record]


def states(store: Store, seen: Iterable[Seen]) -> list[State]:
    """What they say, with the states of their runs as read in one more round trip. Raises InvalidSchedule."""
    listed = list(seen)
    runs = [json.loads(one.record.get("runs") or "[]") for one in listed]
    pipe = store.client.pipeline(transaction=False)
    for task_id, _ in (run for some in runs for run in some):
        pipe.hget(keys.task(task_id), "status")
    found = iter(pipe.execute() if any(runs) else ())
    statuses = [tuple(Run(str(id_), int(at), str(next(found) or "")) for id_, at in some) for some in runs]
    return [_state(one, some) for one, some in zip(listed, statuses, strict=True)]


def _state(seen: Seen, runs: tuple[Run, ...]) -> State:
    record = seen.record

    def number(name: str) -> int:
        return int(record.get(name) or 0)

    waiting = (Waiting(int(at), bool(asked)) for at, asked in json.loads(record.get("waiting") or "[]"))
    return State(
        definition=from_json(record["definition"]),
        revision=number("revision"),
        turn=number("turn"),
        status=Status(record["status"]),
        note=record.get("note", ""),
        by=record.get("by", ""),
        since_ms=number("since_ms"),
        cursor_ms=number("cursor_ms"),
        next_ms=number("next_ms"),
        failures=number("failures"),
        last_ms=number("last_ms"),
        waiting=tuple(waiting),
        runs=runs,
        restored=record.get("epoch", "") != seen.epoch,
    )


def every(store: Store) -> Iterator[Seen]:
    """All of them by name, read in pages."""
    listed = names(store)
    for at in range(0, len(listed), PAGE):
        yield from see(store, listed[at : at + PAGE])


def look(store: Store, name: str) -> tuple[Seen, State]:
    """One schedule. Raises NotFound with what was perhaps meant."""
    seen = see(store, [name])
    if not seen:
        raise NotFound(unknown(name, names(store)))
    return seen[0], states(store, seen)[0]


def unknown(name: str, known: Sequence[str]) -> str:
    """What to say of a name that nobody knows."""
    close = get_close_matches(name, known, n=3)
    hint = f": did you mean {' or '.join(close)}?" if close else ": `koala schedule list` shows them"
    return f"there is no schedule {name!r}{hint}"


def history_of(skipped: Iterable[Skipped]) -> list[dict[str, Any]]:
    """Skipped occurrences as the scripts note them."""
    return [
        {"outcome": str(item.outcome), "planned": item.from_ms, "to": item.to_ms, "count": item.count}
        for item in skipped
    ]


def _own(name: str) -> list[str]:
    return [keys.schedule(name), keys.schedule_history(name), keys.SCHEDULES, keys.SCHEDULES_DUE, keys.SCHEDULES_COUNTS]


@dataclass(frozen=True)
class Put:
    """What `put` did."""

    created: bool
    changed: bool
    revision: int


def put(store: Store, definition: Definition, turn: int, who: str, skipped: Iterable[Skipped] = ()) -> Put | None:
    """Store a definition, a new one as off; None when the schedule has changed since `turn` was read (0: is not there).

    From here on nothing is fired that was planned before.
    """
    reply = store.run(
        "schedule_put", [*_own(definition.name), keys.EPOCH], definition.name, definition.to_json(), str(turn),
        Status.OFF.code, Status.ON.code, who, to_lua(history_of(skipped)),
    )  # fmt: skip
    return Put(reply["created"], reply["changed"], reply["revision"]) if reply["ok"] else None


def set_status(
    store: Store, seen: Seen, status: Status, who: str, note: str = "", *, skipped: Iterable[Skipped] = (),
    drop: bool = False,
) -> bool:  # fmt: skip
    """Turn on, off, or hold; False when the schedule has changed since. `drop`: what waits is given up."""
    reply = store.run(
        "schedule_set", [*_own(seen.name), keys.EPOCH], seen.name, str(seen.turn), str(status), status.code, note, who,
        to_lua(history_of(skipped)), "1" if drop else "",
    )  # fmt: skip
    return bool(reply["ok"])


def drop(store: Store, name: str) -> bool:
    """Remove a schedule; its runs go on. False when it was not there."""
    own = [*_own(name)[:4], keys.SCHEDULES_PUT_OFF]
    return bool(store.run("schedule_drop", own, name)["ok"])


@dataclass(frozen=True)
class Event:
    """One line of a schedule's history. `to_ms` is after `planned_ms` where it is about several occurrences."""

    at_ms: int
    outcome: str
    data: dict[str, Any]


def history(store: Store, name: str, limit: int = 20) -> list[Event]:
    """What became of its occurrences lately, the newest first."""
    rows: Any = store.client.xrevrange(keys.schedule_history(name), count=limit)
    return [Event(int(row["at"]), str(row["outcome"]), json.loads(row["data"])) for _, row in rows]


def counts(store: Store) -> dict[str, int]:
    """Occurrences by outcome, of all schedules that ever were."""
    return {name: int(number) for name, number in store.hash(keys.SCHEDULES_COUNTS).items()}


def by_status(store: Store) -> dict[str, int]:
    """How many schedules are in each status."""
    pipe = store.client.pipeline(transaction=False)
    for status in Status:
        pipe.zcount(keys.SCHEDULES, status.code, status.code)
    return dict(zip(map(str, Status), (int(number) for number in pipe.execute()), strict=True))


def put_off(store: Store, seen: Seen, by_ms: int) -> None:
    """Look at a schedule that nobody can decide about some time later; since when that is so is kept."""
    pipe = store.client.pipeline()
    pipe.zadd(keys.SCHEDULES_DUE, {seen.name: seen.now_ms + by_ms}, xx=True)
    pipe.zadd(keys.SCHEDULES_PUT_OFF, {seen.name: seen.next_ms or seen.now_ms})
    pipe.execute()


def lag_ms(store: Store, now: int) -> int:
    """By how much the schedule that should have been decided about first is overdue; 0 when none is.

    One that is put off is overdue for as long as that goes on; one that is paused, off or over never is.
    """
    due: Any = store.client.zrange(keys.SCHEDULES_DUE, 0, 0, withscores=True)
    put_off: Any = store.client.zrange(keys.SCHEDULES_PUT_OFF, 0, -1, withscores=True)
    still = [since for name, since in put_off if store.client.zscore(keys.SCHEDULES_DUE, name) is not None]
    return max(0, now - int(min([now, *still, *(at for _, at in due)])))
