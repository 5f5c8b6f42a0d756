"""The person at the terminal: their lines, and their wish to stop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@asynccontextmanager
async def on_stop(call: Callable[[], object]) -> AsyncIterator[None]:
    """Inside, Ctrl-C, SIGTERM and a closed terminal call this, each time, instead of ending the process."""
    loop = asyncio.get_running_loop()
    for number in STOPS:
        loop.add_signal_handler(number, call)
    try:
        yield
    finally:
        for number in STOPS:
            loop.remove_signal_handler(number)


NO_DISPLAY = "no display: DISPLAY and WAYLAND_DISPLAY are not set"


def has_display() -> bool:
    """Whether a browser could be shown."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def is_there() -> bool:
    """Whether somebody can be asked: standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def line() -> str:
    """The next line that is typed, without its end; empty at the end of input. Can be cancelled."""
    loop = asyncio.get_running_loop()
    typed: asyncio.Future[str] = loop.create_future()

    def read() -> None:
        if not typed.done():
            typed.set_result(sys.stdin.readline())

    loop.add_reader(sys.stdin, read)
    try:
        return (await typed).strip()
    finally:
        loop.remove_reader(sys.stdin)
