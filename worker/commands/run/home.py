"""The user's own little place: data volume and store of `koala run`, below the state directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koala import settings
from koala.errors import SettingsError, VolumeError
from koala.settings import Settings
from koala.store import Store, open_store
from worker import volume
from worker.commands.run.embedded import embedded, program
from worker.processes import Process
from worker.volume import Volume

HERE = {
    "KOALA_SLOTS": "1",
    "KOALA_LEASE_TTL_S": "6",
    "KOALA_TRUST_MARGIN_S": "1",
    "KOALA_DRAIN_SOFT_S": "1.5",
    "KOALA_BACKOFF_S": "0",
    "KOALA_LOG_FORMAT": "text",
}
"""Settings of a run by one person: short waits."""
STORE = ("KOALA_REDIS_URL", "KOALA_REDIS_URL_FILE", "KOALA_REDIS_PASSWORD", "KOALA_REDIS_PASSWORD_FILE")
"""The pool's store is not for us."""


@dataclass(frozen=True)
class Home:
    """Where runs happen. `durable` False: the store is in memory, so nothing may be done for real."""

    settings: Settings
    store: Store
    volume: Volume
    spare: tuple[Process, ...]
    durable: bool


def folder() -> Path:
    """`$XDG_STATE_HOME/koala`, by default below the home directory. Raises SettingsError without any."""
    try:
        base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    except RuntimeError:  # a user id without an account, as in containers
        raise SettingsError("this user has no home directory: set HOME or XDG_STATE_HOME to one") from None
    return Path(base).resolve() / "koala"


@contextmanager
def home(**variables: str) -> Iterator[Home]:
    """Open it, with these `KOALA_` variables for us and for the child. Raises Refused while another command has it."""
    base = folder()
    for name in STORE:
        os.environ.pop(name, None)
    os.environ.update({**HERE, "KOALA_DATA": str(base / "data"), **variables})
    where = _volume(base)
    binary = program()
    if binary is None:
        yield Home(_settings("unix:///in-memory"), _in_memory(), where, (), durable=False)
        return
    with embedded(binary, base / "redis", where) as server:
        store = open_store(server.url)
        try:
            yield Home(_settings(server.url), store, where, (server.process,), durable=True)
        finally:
            store.close()


def _volume(base: Path) -> Volume:
    try:
        return volume.create(base / "data")
    except VolumeError as error:
        said = str(error).partition(". Name one in KOALA_DATA")[0]
        raise VolumeError(
            f"{said}. `koala run` keeps its profiles and checkpoints there; XDG_STATE_HOME moves it"
        ) from None


def _settings(url: str) -> Settings:
    return settings.load(redis_url=url, redis_user="", redis_password=None)


def _in_memory() -> Store:
    from koala.testing.memory import memory_store

    return memory_store()
