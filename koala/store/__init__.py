"""The store: one Redis, reached through one Lua file an operation."""

from koala.store.connection import OUTAGE, SCHEMA, Store, open_store
from koala.store.scripts import Reply, to_lua

__all__ = ["OUTAGE", "SCHEMA", "Reply", "Store", "open_store", "to_lua"]
