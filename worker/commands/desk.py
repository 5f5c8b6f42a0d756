"""What a person's command works with: the settings, the store, the data volume, and who it is."""

from __future__ import annotations

import getpass
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from koala.errors import StoreAway
from koala.leases import Terms
from koala.settings import Settings
from koala.store import Store, open_store
from worker import volume, watermark
from worker.volume import Volume


@dataclass(frozen=True)
class Desk:
    """One command's surroundings."""

    settings: Settings
    store: Store
    volume: Volume

    @property
    def terms(self) -> Terms:
        """The terms of its leases."""
        return Terms(self.settings.lease_ttl_s, self.settings.trust_margin_s)


@contextmanager
def desk(config: Settings, *, restored: bool = False) -> Iterator[Desk]:
    """Open store and volume. Raises what these raise; without the store nothing of a profile is touched.

    Unless it is about to be declared `restored`, a store that went back is refused: a person's lease would move its
    fences on until nobody could tell any more.
    """
    try:
        store = open_store(config.redis_url, config.password, config.redis_user)
    except StoreAway as error:
        raise StoreAway(f"{error} (a profile is touched only under its lease, which the store gives)") from error
    try:
        where = data_volume(config)
        if not restored:
            watermark.refuse_lower(store, where)
        yield Desk(config, store, where)
    finally:
        store.close()


def data_volume(config: Settings) -> Volume:
    """The data volume. A directory that is not there yet is made; one that is there must carry the mark."""
    return volume.open_or_make(config.data)


def person() -> str:
    """Who runs this command, for people: user and machine."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without an account, as in containers
        user = f"uid {os.getuid()}"
    return f"{user} on {socket.gethostname()}"
