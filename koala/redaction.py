"""The removal of secrets from every text that is stored, logged or shown."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

STARS = "********"
SHORTEST = 4
"""Shorter values are not searched for: they would star out ordinary text."""

SHORTEST_ENCODED = 8
"""Bytes of a value whose base64 is searched for."""
URL_SAFE = str.maketrans("+/", "-_")

_known: set[str] = set()


def know(value: str) -> None:
    """Remove this value from now on: plain, and as URLs, forms, JSON, HTML, Python's texts and base64 have it."""
    if len(value) >= SHORTEST:
        _known.update(_forms(value))


def _forms(value: str) -> set[str]:
    quoted = {quote(value, safe=safe, errors="replace") for safe in ("", "/")} | {quote_plus(value, errors="replace")}
    lower = {re.sub("%[0-9A-F]{2}", lambda code: code[0].lower(), text) for text in quoted}
    escaped = {json.dumps(value, ensure_ascii=ascii_)[1:-1] for ascii_ in (True, False)}
    return {
        value,
        *quoted,
        *lower,
        *escaped,
        repr(value)[1:-1],
        html.escape(value),
        *_base64(value.encode(errors="replace")),
    }


def _base64(value: bytes) -> set[str]:
    """What any base64 text has in common that this lies in: with 0 to 2 bytes before it, at the end or further on.

    A character at each end may hold bits of its neighbours too; where it does, it stays.
    """
    if len(value) < SHORTEST_ENCODED:
        return set()
    found = set()
    for before in range(3):
        whole = base64.b64encode(bytes(before) + value).decode().rstrip("=")
        first = -(-8 * before // 6)
        found |= {whole[first:], whole[first : 8 * (before + len(value)) // 6]}
    return found | {text.translate(URL_SAFE) for text in found}


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


def scrub(value: Any) -> Any:
    """JSON data with every known secret in its texts as stars, and so a number that is one; what is no JSON stays."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {scrub(name): scrub(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [scrub(item) for item in value]
    if isinstance(value, (int, float)) and not isinstance(value, bool) and str(value) in _known:
        return STARS
    return value


def veil(text: str) -> str:
    """A name with its secrets as stars, and still another than every other name's: with a digest of what it was."""
    shown = redact(text)
    return shown if shown == text else f"{shown}~{hashlib.sha256(text.encode()).hexdigest()[:16]}"
