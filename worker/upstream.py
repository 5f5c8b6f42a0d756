"""The child's end of the link: requests upward from the event loop, a reader thread that also serves the watchdog."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
import threading
from typing import Any

from koala.redaction import scrub
from koala.signals import End
from worker.link import Message, decode, encode
from worker.watchdog import Watchdog

ANSWER_S = 30.0
WORDS = ("call", "action", "outcome", "code", "kind", "operation", "token", "hash", "browser", "own_lock")
JSON = ("value", "receipt", "result", "description", "progress")
SAID_AS_IS = frozenset((*WORDS, "lock", "started", *JSON))
"""Words between the two programs, and JSON that was made without secrets: redacting either would break it."""


class Upstream:
    """Implements what `koala.run.Parent` promises, for the attempt at hand."""

    def __init__(self, sock: socket.socket, watchdog: Watchdog) -> None:
        self._sock = sock
        self._watchdog = watchdog
        self._loop = asyncio.get_running_loop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._sending = threading.Lock()
        self.orders: asyncio.Queue[Message] = asyncio.Queue()
        """What the parent orders: `assign` and `quit`."""
        self.leaving = asyncio.Event()
        threading.Thread(target=self._read, name="link", daemon=True).start()

    @property
    def trusted_until(self) -> float:
        """CLOCK_BOOTTIME until which this attempt may act."""
        return self._watchdog.trusted_until

    def rest(self) -> None:
        """The attempt is over: nothing is trusted, and the watchdog rests, until the next."""
        self._watchdog.trusted_until = 0.0
        self.leaving.clear()

    def send(self, message: Message) -> None:
        """One message up, without secrets. Blocks only while the parent does not read."""
        line = encode(_scrubbed(message))
        with self._sending:
            self._sock.sendall(line)

    async def call(self, request: str, /, **args: Any) -> dict[str, Any]:
        """One request, one answer. Raises End when none comes in time: nothing may be begun then."""
        number = next(self._numbers)
        future: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        self._waiting[number] = future
        try:
            self.send({"id": number, "call": request, "args": args})
            async with asyncio.timeout(ANSWER_S):
                answer = await future
        except TimeoutError:
            raise End("crashed", f"no answer to {request} within {ANSWER_S:g} s") from None
        finally:
            del self._waiting[number]
        if answer.get("reason") == "store_away":
            raise End("parked", f"the store was away ({request})")
        return answer

    def _read(self) -> None:
        try:
            with self._sock.makefile("rb") as lines:
                for line in lines:
                    self._take(decode(line))
        finally:
            self._watchdog.end()  # without its parent's word a child may do nothing

    def _take(self, message: Message) -> None:
        if "trust" in message:
            self._watchdog.trusted_until = float(message["trust"])
        elif "answer" in message:
            self._loop.call_soon_threadsafe(self._resolve, message["id"], message["answer"])
        elif "leave" in message:
            self._loop.call_soon_threadsafe(self.leaving.set)
        else:
            if "assign" in message:
                self._watchdog.trusted_until = float(message["assign"]["trusted_until"])
            self._loop.call_soon_threadsafe(self.orders.put_nowait, message)

    def _resolve(self, number: int, answer: dict[str, Any]) -> None:
        future = self._waiting.get(number)
        if future and not future.done():
            future.set_result(answer)


def _scrubbed(message: Message) -> Message:
    """A message, or a part of one, in which authors' texts hold no secret."""
    scrubbed = {}
    for name, value in message.items():
        ours = isinstance(value, dict) and name != "data"
        inner = _scrubbed(value) if ours else scrub(value)
        scrubbed[name] = value if name in SAID_AS_IS else inner
    return scrubbed


def connect(descriptor: int) -> socket.socket:
    """The socket that the parent passed down."""
    os.set_inheritable(descriptor, False)
    sock = socket.socket(fileno=descriptor)
    sock.setblocking(True)
    return sock
