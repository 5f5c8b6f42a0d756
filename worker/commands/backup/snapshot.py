"""Having Redis write its snapshot: one instant of the whole store, beside the append-only file that it runs on."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import redis

from koala import keys
from koala.errors import KoalaError
from koala.exits import Exit
from koala.store import Store

PACE_S = 0.1


class NotSaved(KoalaError):
    """Redis could not write its snapshot."""

    code, retry = "not_saved", True


def tell(store: Store, within_s: float) -> Exit:
    """Save, and print what was saved and where, as one line of JSON."""
    json.dump(save(store, within_s), sys.stdout)
    sys.stdout.write("\n")
    return Exit.OK


def save(store: Store, within_s: float) -> dict[str, Any]:
    """Have a snapshot written: its path on Redis's machine, and the facts of a manifest. Raises NotSaved."""
    deadline = time.monotonic() + within_s
    seconds, micros = store.client.time()
    facts = {
        "at_ms": int(seconds) * 1000 + int(micros) // 1000,
        "epoch": int(store.client.get(keys.EPOCH) or 0),
        "fence": int(store.client.get(keys.FENCE) or 0),
        "schema": int(store.client.get(keys.SCHEMA) or 0),
        "redis": str(store.client.info("server")["redis_version"]),
        "file": _file(store),
    }
    before = _state(store)["rdb_saves"]
    while not _begun(store):  # one that was begun before is older than its caller wants
        _wait(deadline)
    while (now := _state(store))["rdb_bgsave_in_progress"] or now["rdb_saves"] == before:
        _wait(deadline)
    if now["rdb_last_bgsave_status"] != "ok":
        raise NotSaved("Redis could not write its snapshot: is its disk full? Its log says why; the pool goes on")
    return facts


def _begun(store: Store) -> bool:
    try:
        store.client.bgsave(schedule=True)
    except redis.exceptions.ResponseError as error:
        if "in progress" in str(error):
            return False
        raise
    return True


def _state(store: Store) -> dict[str, Any]:
    found: dict[str, Any] = store.client.info("persistence")
    return found


def _file(store: Store) -> str:
    where = store.client.config_get("dir", "dbfilename")
    return f"{where['dir']}/{where['dbfilename']}"


def _wait(deadline: float) -> None:
    if time.monotonic() > deadline:
        raise NotSaved("Redis has not written its snapshot in time: see its log, and try again")
    time.sleep(PACE_S)
