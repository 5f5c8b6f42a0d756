"""Messages between a slot's parent and its child: JSON lines over a socket pair.

Child to parent: {"id", "call", "args"} wants an answer {"id", "answer"}; {"end": …} ends the attempt.
Parent to child: {"assign": …}, {"trust": seconds}, {"leave": true}, {"quit": true}.
"""

from __future__ import annotations

import json
from typing import Any

Message = dict[str, Any]

LONGEST = 4 * 1024 * 1024
"""Bytes of one line; payloads are smaller, so a longer one is a fault of the sender."""


def encode(message: Message) -> bytes:
    """One message as a line. Halves of characters, as an author's error may hold, become question marks."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False).encode(errors="replace") + b"\n"


def decode(line: bytes) -> Message:
    """A line as a message. ValueError when it is not one."""
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("a message is an object")
    return message
