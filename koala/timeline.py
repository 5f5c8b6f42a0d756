"""What happened to a task, in order, by the store's clock."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from koala import keys
from koala.store import Store


@dataclass(frozen=True)
class Event:
    """One line of a timeline. `action` is from the list in docs/architecture.md."""

    id: str
    at_ms: int
    action: str
    data: dict[str, Any]


def read(store: Store, task_id: str, after: str = "-") -> list[Event]:
    """The events of a task, oldest first; those behind the event id `after` when given; empty when there are none."""
    start = after if after == "-" else f"({after}"
    rows: Any = store.client.xrange(keys.timeline(task_id), start, "+")
    return [Event(str(id_), int(fields["at"]), fields["action"], json.loads(fields["data"])) for id_, fields in rows]
