"""Secrets: files of a person's, values that print as stars."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from koala import names
from koala.errors import SettingsError
from koala.reading import text_of
from koala.redaction import STARS, know

LONGEST = 1024 * 1024
"""Bytes of a secret; most have a few dozen."""


class Secret:
    """A secret value. Printing, formatting and pickling it never show it; `reveal()` does."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value
        know(value)

    def reveal(self) -> str:
        """The value itself, for the one call that needs it."""
        return self._value

    def __str__(self) -> str:
        return STARS

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return STARS

    def __reduce__(self) -> str:
        raise TypeError("a secret is not stored")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)


def read(path: Path) -> str:
    """A secret file's value.

    Raises SettingsError when it is missing, somebody else's, empty, open to others or ends in a newline.
    """
    try:
        mode = path.stat().st_mode
        value = text_of(path, LONGEST)
    except FileNotFoundError:
        raise SettingsError(f"the secret {path} is missing: create it with mode 0400") from None
    except PermissionError:
        raise SettingsError(f"the secret {path} is not ours to read: {_give_to_us(path)}") from None
    except UnicodeDecodeError:
        raise SettingsError(f"the secret {path} is not text in UTF-8: write it again") from None
    except OSError as error:
        raise SettingsError(f"the secret {path} cannot be read: {error.strerror}") from None
    if mode & (stat.S_IRWXO):
        raise SettingsError(f"the secret {path} is readable by everyone: chmod 0400 it")
    if not value:
        raise SettingsError(f"the secret {path} is empty: write the value into it")
    if value.endswith("\n"):
        raise SettingsError(f"the secret {path} ends in a newline: write it with printf '%s'")
    return value


def _give_to_us(path: Path) -> str:
    """Nothing but the owner's number counts, in a container too: names of users may differ inside and outside."""
    try:
        owner = f"it belongs to uid {path.stat().st_uid}"
    except OSError:
        owner = "its directory is closed to us"
    return f"{owner}, and we are uid {os.geteuid()}. Make it belong to uid {os.geteuid()}, mode 0400"


def mounted(directory: Path | None, name: str) -> Secret:
    """Read a mounted secret. Raises SettingsError saying what is wrong and what to do."""
    if directory is None:
        raise SettingsError(f"no secrets directory: set KOALA_SECRETS_DIR and put a file {name} into it, mode 0400")
    return Secret(read(directory / names.check("secret", name)))
