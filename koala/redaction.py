"""The removal of secrets from every text that is stored, logged or shown."""

from __future__ import annotations

import hashlib
import html
import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

STARS = "********"
SHORTEST = 4
"""Shorter values are not searched for: they would star out ordinary text."""

_known: set[str] = set()


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
