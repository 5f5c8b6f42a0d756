"""What a slot tells its supervisor: that it lives, and what it counted; and how the supervisor reads it.

The slot has the writing end of a pipe (`--report FD`), made anew for each of its lives. What `Report` promises:

- Each call writes one line of JSON in one write, from whatever thread, and never waits. Lines never mix.
- When the pipe is full, nobody reads it any more, or the line is too long, the line is dropped. The next line that
  gets through says before itself how many were (`dropped`): a counter may be too low then, and it is known by how much.
- Without a pipe (a test, `koala run`) nothing happens.
- The slot's child and its browser do not inherit the pipe: only the slot itself can speak for it.

What `Reading` promises: every whole line that was written before the slot ended is given to the callbacks, in order;
what is no line of ours is left out and counted as dropped.
"""

from __future__ import annotations

import json
import os
import select
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from koala.logs import log
from koala.redaction import redact

LONGEST = select.PIPE_BUF
"""A longer write could be torn, and mix with another thread's."""

LAST_WORDS = 500
"""The longest reason that a slot gives for its end, in characters."""


@dataclass(frozen=True)
class Metric:
    """One report for the metrics: `count` adds `value` to a counter, `observe` notes that many seconds."""

    kind: Literal["count", "observe"]
    name: str
    labels: dict[str, str]
    value: float


OnMetric = Callable[[Metric], None]


class Report:
    """The slot's end. `beat` may be called first when the slot is ready to take work."""

    def __init__(self, descriptor: int | None = None) -> None:
        self._descriptor = descriptor
        self._dropped = 0
        self._turn = threading.Lock()
        if descriptor is not None:
            os.set_inheritable(descriptor, False)
            os.set_blocking(descriptor, False)

    def beat(self) -> None:
        """Say that this slot is ready and its event loop runs. The first beat makes the slot ready."""
        self._say({"beat": 1})

    def count(self, name: str, labels: Mapping[str, str], amount: float = 1) -> None:
        """Add to a counter of the worker."""
        self._say({"count": name, "labels": dict(labels), "value": amount})

    def observe(self, name: str, labels: Mapping[str, str], seconds: float) -> None:
        """Note a duration in a histogram of the worker."""
        self._say({"observe": name, "labels": dict(labels), "value": seconds})

    def ends(self, reason: str) -> None:
        """Say why this slot ends, for whoever looks after the worker; without secrets."""
        self._say({"ends": redact(reason)[:LAST_WORDS]})

    def _say(self, message: dict[str, Any]) -> None:
        if self._descriptor is None:
            return
        with self._turn:
            lines = _line({"dropped": self._dropped}) if self._dropped else b""
            if self._written(lines + _line(message)):
                self._dropped = 0
            else:
                self._dropped += 1

    def _written(self, lines: bytes) -> bool:
        """Whether they are in the pipe, whole: a write of this length is all or nothing."""
        if self._descriptor is None or len(lines) > LONGEST:
            return False
        try:
            return os.write(self._descriptor, lines) == len(lines)
        except (BlockingIOError, BrokenPipeError):
            return False


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class Reading:
    """The supervisor's end of one slot's pipe: `take` what is there, `close` at the slot's end. Never blocks."""

    def __init__(self, slot: int, on_beat: Callable[[], None], on_metric: OnMetric) -> None:
        self._slot = slot
        self._on_beat = on_beat
        self._on_metric = on_metric
        self._rest = b""
        self.last_words = ""
        """Why the slot says that it ends."""
        self.descriptor, self.writing = os.pipe()
        os.set_blocking(self.descriptor, False)

    def started(self) -> None:
        """The slot has its end by now: give up ours, or the pipe would never end."""
        os.close(self.writing)

    def take(self) -> bool:
        """Handle all lines that are there; whether more may come."""
        while True:
            try:
                got = os.read(self.descriptor, 65_536)
            except BlockingIOError:
                return True
            *lines, self._rest = (self._rest + got).split(b"\n")
            for line in lines:
                self._handle(line)
            if not got:
                return False

    def close(self) -> None:
        """Handle what is left, and forget the pipe."""
        self.take()
        os.close(self.descriptor)

    def _handle(self, line: bytes) -> None:
        try:
            self._act(json.loads(line))
        except (ValueError, KeyError, TypeError):
            log().warning("reports_dropped", slot=self._slot, number=1)

    def _act(self, message: dict[str, Any]) -> None:
        if "beat" in message:
            self._on_beat()
        elif "ends" in message:
            self.last_words = str(message["ends"])
        elif "dropped" in message:
            log().warning("reports_dropped", slot=self._slot, number=int(message["dropped"]))
        else:
            self._on_metric(_metric(message))


def _metric(message: dict[str, Any]) -> Metric:
    labels = {str(name): str(value) for name, value in message["labels"].items()}
    value = float(message["value"])
    if "count" in message:
        return Metric("count", str(message["count"]), labels, value)
    return Metric("observe", str(message["observe"]), labels, value)
