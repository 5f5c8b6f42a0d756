"""Opening the store, and refusing one that can lose what it acknowledged."""

from __future__ import annotations

from collections.abc import Sequence

import redis

from koala import keys
from koala.errors import StoreAway, StoreForbidden, StoreNewer, StoreUnsafe
from koala.redaction import address
from koala.store.client import AWAY as AWAY
from koala.store.client import client_for
from koala.store.scripts import Reply, Value, call

SCHEMA = 1
"""The shape of the records. Within a major only fields are added."""

OLDEST = (7, 0)
DURABLE = {"appendonly": "yes", "appendfsync": "always", "maxmemory-policy": "noeviction"}

OUTAGE = (StoreAway, *AWAY)
"""What calls of a Store and its client (StoreAway), and of other Redis clients, raise while the store is away."""


class Store:
    """The store's client. Every call answers within about a second or raises StoreAway; nothing is retried here.

    A call that raised StoreAway may have been carried out: call it again with the same token.
    """

    def __init__(self, client: redis.Redis) -> None:
        self.client = client

    def run(self, name: str, keys_: Sequence[str], *args: Value) -> Reply:
        """Run the operation `name` (a file of `lua/`), atomically."""
        return call(self.client, name, keys_, args)

    def hash(self, key: str) -> dict[str, str]:
        """A record as text, empty when it is not there."""
        return {str(name): str(value) for name, value in self.client.hgetall(key).items()}

    def close(self) -> None:
        """Give the connections back."""
        self.client.close()


def durability(client: redis.Redis) -> list[str]:
    """Why this Redis may lose or evict an acknowledged write, each with what to do; empty when it cannot."""
    try:
        version = str(client.info("server")["redis_version"])
        got = client.config_get("append*", "maxmemory-policy")
    except (redis.exceptions.ResponseError, StoreForbidden) as error:
        return [
            f"INFO or CONFIG is closed ({error}), so durability cannot be proved: "
            "allow INFO and CONFIG GET to this user"
        ]
    faults = [
        f"{name} is {got.get(name)!r}: set `{name} {value}` in redis.conf"
        for name, value in DURABLE.items()
        if got.get(name) != value
    ]
    faults += _log_readable(client)
    if tuple(int(part) for part in version.split(".")[:2]) < OLDEST:
        faults.insert(0, f"Redis {version} is too old: use 7.0 or newer")
    return faults


def _log_readable(client: redis.Redis) -> list[str]:
    """Why Redis would leave writes out when it reads its log back; empty when it reads all of them.

    It reads the log as its default user, and an EXEC that this one may not do is dropped without an error
    (redis/redis#14541, valkey-io/valkey#3983). A user that is off may be allowed everything all the same.
    """
    mended = "put `user default off resetpass ~* &* +@all` into its access list"
    try:
        said = str(client.acl_dryrun("default", "SET", "koala:probe", "1"))
    except redis.exceptions.ResponseError as error:
        return [f"it does not say what its default user may do ({error}): allow ACL DRYRUN to this user, and {mended}"]
    if said == "OK":
        return []
    return [f"its default user may not write ({said}), so a restart would lose transactions from its log: {mended}"]


def open_store(url: str, password: str | None = None, user: str = "", timeout_s: float = 1.0) -> Store:
    """Connect, prove the store durable and of a known schema, and make its first epoch when it is new.

    Raises StoreAway, StoreUnsafe or StoreNewer. Blocking, at most a few seconds.
    """
    store = Store(client_for(url, password, user, timeout_s))
    try:
        _admit(store, address(url))
    except StoreAway as error:
        store.close()
        raise StoreAway(
            f"no store at {address(url)}: {error}. Is Redis running, and is KOALA_REDIS_URL right?"
        ) from error
    except BaseException:
        store.close()
        raise
    return store


def _admit(store: Store, shown: str) -> None:
    faults = durability(store.client)
    if faults:
        raise StoreUnsafe(f"the store at {shown} is refused: " + "; ".join(faults))
    first = store.run("open_store", [keys.SCHEMA, keys.EPOCH], SCHEMA)
    if first["schema"] > SCHEMA:
        raise StoreNewer(f"the store has schema {first['schema']}, this program knows {SCHEMA}: use a newer Koala")
