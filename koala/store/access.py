"""`python -m koala.store.access`: has Redis read its access list again, after `secrets` has changed it.

Run as the store's user `operator`. Programs whose rights have changed may lose their connection and come back by
themselves; nobody whose name and password are still listed is shut out.
"""

from __future__ import annotations

import sys

import redis

from koala import settings
from koala.errors import KoalaError, StoreUnsafe
from koala.exits import Exit
from koala.store.client import Client, client_for


def reload(client: Client) -> None:
    """Read the list again: all of it or, where Redis finds a fault in it, nothing, which raises StoreUnsafe."""
    try:
        client.execute_command("ACL", "LOAD")
    except redis.exceptions.ResponseError as error:
        raise StoreUnsafe(f"Redis keeps its former access list: {error}") from error


def main() -> Exit:
    """Reload the list of the store of the settings."""
    try:
        config = settings.load()
        reload(client_for(config.redis_url, config.password, config.redis_user))
    except KoalaError as error:
        sys.stderr.write(f"error[{error.code}]: {error}\n")
        return error.exit
    sys.stdout.write("Redis has read its access list\n")
    return Exit.OK


if __name__ == "__main__":
    sys.exit(main())
