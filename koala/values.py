"""Values that authors' functions give: plain or awaited, and kept as JSON."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any

from koala.errors import PayloadTooLarge
from koala.redaction import scrub
from koala.text import writable

LARGEST = 256 * 1024


def to_json(value: Any, what: str) -> str:
    """A value (or pydantic model) as JSON text, without secrets. Raises TypeError or PayloadTooLarge, saying why."""
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    try:
        text = writable(json.dumps(scrub(value), separators=(",", ":"), ensure_ascii=False, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} must be JSON (text, numbers, lists, dicts): {error}") from None
    if len(text.encode()) > LARGEST:
        raise PayloadTooLarge(f"{what} is over {LARGEST} bytes: save it as an artifact and keep its name")
    return text


async def result_of(call: Callable[..., Any], *args: Any) -> Any:
    """What a plain or async function gives."""
    value = call(*args)
    return await value if inspect.isawaitable(value) else value
