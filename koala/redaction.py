"""Secrets: values that print as stars, and their removal from every text that is stored, logged or shown."""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from urllib.parse import quote, quote_plus

from koala import names
from koala.errors import SettingsError

STARS = "********"
SHORTEST = 4
"""Shorter values are not searched for: they would star out ordinary text."""

_known: set[str] = set()


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


def know(value: str) -> None:
    """Remove this value, plain and as it looks in URLs, forms, JSON, HTML and Python's texts, from now on."""
    if len(value) >= SHORTEST:
        _known.update(_forms(value))


def _forms(value: str) -> set[str]:
    quoted = {quote(value, safe=safe, errors="replace") for safe in ("", "/")} | {quote_plus(value, errors="replace")}
    lower = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in quoted}
    escaped = {json.dumps(value, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False)}
    return {value, *quoted, *lower, *escaped, repr(value)[1:-1], html.escape(value)}


def address(url: str) -> str:
    """A URL for people to read: the user and password in it as stars."""
    scheme, mark, rest = url.partition("://")
    before, at, after = rest.rpartition("@")
    return f"{scheme}{mark}{STARS}@{after}" if at and "?" not in before and rest[0] != "/" else url


def redact(text: str) -> str:
    """The text with every known secret as stars."""
    for value in sorted(_known, key=len, reverse=True):
        text = text.replace(value, STARS)
    return text


def secret_from(directory: Path | None, name: str) -> Secret:
    """Read a mounted secret. Raises SettingsError saying what is wrong and what to do."""
    from koala.settings import read_secret

    if directory is None:
        raise SettingsError(f"no secrets directory: set KOALA_SECRETS_DIR and put a file {name} into it, mode 0400")
    return Secret(read_secret(directory / names.check("secret", name)))
