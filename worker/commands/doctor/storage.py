"""The store: there, durable, of our schema, and of one mind with this machine about the time."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator

from koala import keys
from koala.clock import wall_ms
from koala.errors import StoreAway
from koala.exits import Exit
from koala.redaction import address
from koala.settings import Settings
from koala.store.client import Client, client_for
from koala.store.connection import SCHEMA, durability
from worker.commands.doctor.finding import Finding, fail, graded, ok, warn

SLOW_S = 0.02
SKEW_S = 1.0
SKEW_MOST_S = 60.0


def store(config: Settings) -> Iterator[Finding]:
    """Read only: nothing is written into it."""
    where = address(config.redis_url)
    client = client_for(config.redis_url, config.password, config.redis_user)
    try:
        client.ping()
    except StoreAway as error:
        yield fail("store", f"no store at {where}: {error}", "start Redis, or correct KOALA_REDIS_URL", Exit.STORE_AWAY)
        return
    try:
        yield from _answering(client, where)
    finally:
        client.close()


def _answering(client: Client, where: str) -> Iterator[Finding]:
    faults = durability(client)
    if faults:
        yield fail("store", f"{where} may lose what it acknowledged", "; ".join(faults), Exit.STORE_UNSAFE)
    else:
        version = client.info("server")["redis_version"]
        yield ok("store", f"Redis {version} at {where}, durable and without eviction")
    yield from _disk(client)
    yield _schema(client)
    yield _speed(client)
    yield _time(client)


def _disk(client: Client) -> Iterator[Finding]:
    info = client.info("persistence")
    if info.get("aof_last_write_status", "ok") != "ok":
        yield fail("store disk", "its last write to disk failed", "make room on the disk of Redis", Exit.STORE_UNSAFE)


def _schema(client: Client) -> Finding:
    found = int(client.get(keys.SCHEMA) or 0)
    if found > SCHEMA:
        return fail("store schema", f"{found}, this program knows {SCHEMA}", "use a newer Koala", Exit.STORE_NEWER)
    return ok("store schema", str(found) if found else "none yet: the first program makes it")


def _speed(client: Client) -> Finding:
    began = time.monotonic()
    for _ in range(20):
        client.ping()
    each = (time.monotonic() - began) / 20
    return graded(
        "store speed",
        f"answers in {each * 1000:.1f} ms",
        "bring worker and store closer: each step and each renewal waits for it",
        fails=each > 0.3,
        warns=each > SLOW_S,
    )


def _time(client: Client) -> Finding:
    """The store's clock decides what has expired; the machine's is for people and for due times."""
    before = wall_ms()
    seconds, micros = client.time()
    skew = (seconds * 1000 + micros / 1000 - (before + wall_ms()) / 2) / 1000
    return graded(
        "store clock",
        f"{skew:+.2f} s against this machine's",
        "let NTP set both clocks: due times and what people see go by them",
        fails=abs(skew) > SKEW_MOST_S,
        warns=abs(skew) > SKEW_S,
    )


def redis_server() -> Iterator[Finding]:
    """`koala run` starts one of its own."""
    found = shutil.which("redis-server")
    if found:
        yield ok("redis-server", f"{found}, for `koala run`")
    else:
        yield warn(
            "redis-server", "not installed", "`koala run` only rehearses effects without: apt-get install redis-server"
        )
