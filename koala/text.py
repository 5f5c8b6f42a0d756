"""Text that is no Unicode: half a surrogate pair, out of a page, a cut through an emoji, or bytes of the system."""

from __future__ import annotations

from koala.errors import InvalidName


def writable(text: str) -> str:
    """The text as it can be written anywhere: with a question mark for each half of a pair."""
    return text.encode(errors="replace").decode()


def exact(what: str, text: str) -> str:
    """Return text that has to stay another than every other, as a part of a key; raise InvalidName when it cannot."""
    if writable(text) != text:
        raise InvalidName(f"{what} {text!a} is not allowed: it holds half a character. Use whole text, or a hash of it")
    return text
