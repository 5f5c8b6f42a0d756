"""What every command that needs the pool begins with: settings, known secrets and an open store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from koala import redaction, settings
from koala.settings import Settings
from koala.store import Store, open_store


@dataclass(frozen=True)
class Session:
    """One command's settings and store."""

    config: Settings
    store: Store


@contextmanager
def session() -> Iterator[Session]:
    """Open the store of the settings. Raises SettingsError, StoreAway, StoreUnsafe or StoreNewer."""
    config = configured()
    store = open_store(config.redis_url, config.password, config.redis_user)
    try:
        yield Session(config, store)
    finally:
        store.close()


def configured() -> Settings:
    """The settings; from here on their secrets print as stars. Raises SettingsError."""
    config = settings.load()
    for value in _mounted(config.secrets_dir):
        redaction.know(value)
    return config


def _mounted(folder: Path | None) -> Iterator[str]:
    """The values of the mounted secrets that this user may read."""
    for path in _files(folder):
        try:
            yield path.read_text("utf-8").rstrip("\n")
        except (OSError, UnicodeDecodeError):
            continue


def _files(folder: Path | None) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_file()] if folder else []
    except OSError:  # not there, or for somebody else: the command that needs one says so
        return []
