"""The store in memory: the same Lua files, run by fakeredis. For tests and rehearsals; nothing in it is durable."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from koala import keys
from koala.errors import KoalaError
from koala.store import SCHEMA, Store
from koala.store.scripts import SHEBANG


class MemoryStoreMissing(KoalaError):
    """fakeredis with its Lua interpreter is not installed."""

    code = "memory_store_missing"


def memory_store() -> Store:
    """A new, empty store with its first epoch. Raises MemoryStoreMissing."""
    try:
        store = Store(_client())
    except ImportError as error:
        raise MemoryStoreMissing(
            f'the store in memory needs fakeredis with Lua ({error}): pip install "koala-agents[testing]"'
        ) from None
    store.run("open_store", [keys.SCHEMA, keys.EPOCH], SCHEMA)
    return store


def _client() -> Any:
    from fakeredis import FakeRedis

    import_module("lupa")  # fakeredis itself would say only at the first script that it is missing

    class Client(FakeRedis):
        """Does not know the first line by which Redis 7 takes a script as a whole, or not at all."""

        def eval(self, script: str, numkeys: int, *keys_and_args: Any) -> Any:
            return super().eval(script.removeprefix(f"{SHEBANG}\n"), numkeys, *keys_and_args)

    return Client(decode_responses=True, encoding_errors="replace")
