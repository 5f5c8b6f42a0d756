"""Loading and calling the Lua files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import redis

Reply = dict[str, Any]
"""A script's answer: `ok`, and on a refusal `reason` from the list in the script's header."""

Value = str | int | float

SHEBANG = "#!lua"
"""Makes Redis refuse a script as a whole, before its first write, when it has no memory left or may not write."""


@cache
def source(name: str) -> str:
    """The text of an operation, the shared part in front."""
    folder = files("koala.store") / "lua"
    return "\n".join([SHEBANG, *((folder / f"{part}.lua").read_text("utf-8") for part in ("common", name))])


@cache
def digest(name: str) -> str:
    """The SHA-1 by which Redis knows an operation."""
    return hashlib.sha1(source(name).encode(), usedforsecurity=False).hexdigest()


def to_lua(value: Any) -> str:
    """JSON for a script to read: without escapes of lone surrogates, which Redis's JSON reader refuses."""
    return json.dumps(value, ensure_ascii=False)


def call(client: redis.Redis, name: str, keys: Sequence[str], args: Sequence[Value]) -> Reply:
    """Run one operation, atomically and blocking. Redis errors pass through."""
    try:
        reply = client.evalsha(digest(name), len(keys), *keys, *args)
    except redis.exceptions.NoScriptError:
        reply = client.eval(source(name), len(keys), *keys, *args)
    answer: Reply = json.loads(str(reply))
    return answer
