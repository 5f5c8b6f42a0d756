"""Ctrl-C and SIGTERM: the first one stops a command at its next safe point, the second one at once.

Neither cuts an attempt: what was told to drain goes on draining.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from deploy.say import say

STEP_S = 0.1


class Interrupted(Exception):
    """The person wants to stop; everything is as it is. Its text, if any, is what to do to go on."""


class _State:
    asked = False
    meaning = ""


@contextmanager
def meaning(text: str) -> Iterator[None]:
    """What the next signal is answered with inside; it ought to say what a second one does."""
    before, _State.meaning = _State.meaning, text
    try:
        yield
    finally:
        _State.meaning = before


def install() -> None:
    """Catch both signals from now on."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _asked)


def _asked(number: int, frame: FrameType | None) -> None:
    if _State.asked:
        raise KeyboardInterrupt
    _State.asked = True
    say(_State.meaning or "stops at the next safe point; once more: at once. Nothing that runs is cut by it")


def check() -> None:
    """A safe point. Raises Interrupted when it was asked for."""
    if _State.asked:
        raise Interrupted


def sleep(seconds: float) -> None:
    """Wait so long. Raises Interrupted."""
    end = time.monotonic() + seconds
    while True:
        check()
        left = end - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(STEP_S, left))
