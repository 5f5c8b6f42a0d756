"""The ledger: the durable record of every effect, as it is read. Attempts write it (`koala.attempt`)."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from koala import keys
from koala.redaction import redact
from koala.store import Store
from koala.text import writable


def operation(workflow: str, effect: str, key: str) -> str:
    """The operation id; the author's text comes last."""
    return f"{workflow}/{effect}/{key}"


def canonical(description: Any) -> str:
    """The one text of a description, JSON: keys sorted, text in NFC, numbers exact and without trailing zeros.

    So 40, 40.0 and Decimal("40.00") are the same, and "40" is not. Raises TypeError for what has no text of its own.
    """
    if hasattr(description, "model_dump"):
        description = description.model_dump()
    if description is None or isinstance(description, bool):
        return json.dumps(description)
    if isinstance(description, (int, float, Decimal)):
        return _number(Decimal(str(description)))
    if isinstance(description, dict):
        return _mapping(description)
    if isinstance(description, (list, tuple)):
        return f"[{','.join(map(canonical, description))}]"
    return _text(description)


def _number(number: Decimal) -> str:
    if not number.is_finite():
        raise TypeError(f"a description cannot hold {number}")
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text


def _mapping(items: dict[Any, Any]) -> str:
    texts = {_text(key): canonical(value) for key, value in items.items()}
    if len(texts) < len(items):
        raise TypeError("two keys of a description are the same as text")
    return "{" + ",".join(f"{key}:{texts[key]}" for key in sorted(texts)) + "}"


def _text(value: Any) -> str:
    kind: Any = type(value)
    nameless = kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__
    if nameless or isinstance(value, (set, frozenset)):
        raise TypeError(f"a description cannot hold a {type(value).__name__}: use text, numbers, lists and dicts")
    return json.dumps(redact(unicodedata.normalize("NFC", writable(str(value)))), ensure_ascii=False)


def digest(operation_: str, description: str) -> str:
    """What an approval is for: the operation and exactly this description."""
    return hashlib.sha256(f"{operation_}\n{description}".encode()).hexdigest()[:32]


@dataclass(frozen=True)
class Entry:
    """One effect in the ledger."""

    operation: str
    task: str
    state: str
    try_: int
    description: Any
    receipt: Any
    sent: dict[str, Any] | None
    how: str


def entry(store: Store, operation_: str) -> Entry | None:
    """One effect's record; None when it was never planned."""
    record = store.hash(keys.effect(operation_))
    if not record:
        return None
    return Entry(
        operation_,
        record.get("task", ""),
        record.get("state", ""),
        int(record.get("try", 0)),
        json.loads(record["description"]) if record.get("description") else None,
        json.loads(record["receipt"]) if record.get("receipt") else None,
        json.loads(record["sent"]) if record.get("sent") else None,
        record.get("how", ""),
    )


def of_task(store: Store, task_id: str) -> list[Entry]:
    """A task's effects, by operation id."""
    names = sorted(str(name) for name in store.client.smembers(keys.task_effects(task_id)))
    return [found for name in names if (found := entry(store, name))]


def open_of_task(store: Store, task_id: str) -> dict[str, dict[str, Any]]:
    """A task's effects that are `sent`: operation to try, fence, locks and machine."""
    return {name: json.loads(text) for name, text in store.hash(keys.open_effects(task_id)).items()}


def forget(store: Store, older_than_ms: int, limit: int = 200) -> int:
    """Remove at most `limit` records not touched since then; returns how many. Removing one re-allows its effect.

    What is `sent`, or belongs to a task that has not ended, stays.
    """
    removed = kept = 0
    while removed < limit:
        names = store.client.zrangebyscore(keys.EFFECTS, "-inf", f"({older_than_ms}", start=kept, num=limit)
        if not names:
            break
        for name in map(str, names):
            owner = str(store.client.hget(keys.effect(name), "task") or "")
            own = [keys.effect(name), keys.EFFECTS, keys.task(owner)]
            gone = bool(store.run("effect_forget", own, name, owner, older_than_ms)["ok"])
            removed, kept = removed + gone, kept + (not gone)
    return removed


def locks_in_use(store: Store) -> set[str]:
    """The lock files that some open `sent` names: removing one makes its proof impossible. Walks the keys; slow."""
    names: set[str] = set()
    for key in store.client.scan_iter(match=keys.open_effects("*"), count=1000):
        for text in store.client.hvals(str(key)):
            sent = json.loads(text)
            names.update(str(sent[role]) for role in ("k", "d", "b") if sent.get(role))
    return names
