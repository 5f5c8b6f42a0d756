"""Text that came from elsewhere, made safe to show: secrets as stars, invisible characters visible."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from rich.text import Text

from koala.redaction import redact

BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {
    chr(code) for code in (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))
}
"""Characters that show nothing although their category says letter, symbol or mark."""


def _hidden(char: str) -> bool:
    """Whether a character controls, reorders, or cannot be seen: categories C and Z except the space."""
    return char != " " and (unicodedata.category(char)[0] in "CZ" or char in BLANKS)


def _spelled(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}.get(char, f"\\x{code:02x}")
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def visible(text: object) -> str:
    """One line of redacted text in which control, bidi, format and blank characters are spelled out."""
    return "".join(_spelled(char) if _hidden(char) else char for char in redact(str(text)))


def lines(text: str) -> str:
    """The same for text whose line breaks are meant."""
    return "\n".join(visible(line) for line in redact(text).split("\n"))


def foreign(text: object, style: str = "") -> Text:
    """Safe text as rich shows it: no markup, no emoji codes."""
    return Text(visible(text), style=style)


def pretty(value: Any, most: int = 2000) -> str:
    """A JSON value for reading, safe and at most so many characters long."""
    text = json.dumps(clean(value), indent=2, ensure_ascii=False)
    if len(text) > most:
        text = f"{text[:most]}… ({len(text)} characters; --json shows all)"
    return lines(text)


def as_json(value: Any, *, ascii_only: bool = False) -> str:
    """A value as indented JSON, redacted: letters as they are, what `visible` spells out as JSON's own escapes."""
    text = json.dumps(clean(value), indent=2, ensure_ascii=ascii_only)
    return "".join(json.dumps(char)[1:-1] if char != "\n" and _hidden(char) else char for char in text)


def brief(value: Any, most: int = 120) -> str:
    """A JSON value on one line, safe and cut."""
    whole = clean(value)  # before it is cut: half a secret would not be known for one
    text = whole if isinstance(whole, str) else json.dumps(whole, ensure_ascii=False)
    return visible(text if len(text) <= most else text[: most - 1] + "…")


def clean(value: Any) -> Any:
    """JSON-ready data with every text in it redacted."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(str(key)): clean(item) for key, item in value.items()}
    return [clean(item) for item in value] if isinstance(value, (list, tuple)) else value
