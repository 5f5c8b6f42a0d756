"""Running a program with its start and its end written down."""

from __future__ import annotations

import os
import re
import secrets
import signal
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from koala.clock import boottime, wall_ms
from koala.errors import KoalaError, told
from koala.exits import PERMANENT, Exit
from koala.redaction import STARS, redact
from koala.starts import diary
from koala.starts.diary import Entry

WAITS_S = (0, 1, 2, 4, 8)
"""The wait before a permanent failure is given back, by how many there were lately. A container that ran for ten
seconds would count as one that came up."""
LATELY_MS = 600_000
LONGEST_REASON = 300
SIGNALS = (signal.SIGTERM, signal.SIGINT)


@dataclass
class Start:
    """One start of a program. Without a directory nothing is written; what cannot be written is said once."""

    program: str
    directory: Path | None
    image: str
    life: str = field(default_factory=lambda: secrets.token_hex(8))
    reason: str = ""
    """Why it ends with another code than 0; the program sets it."""
    stopped: bool = False
    """Whether a signal asked it to end; the program sets it."""

    def __post_init__(self) -> None:
        self._began = boottime()
        self._host = socket.gethostname()
        self._is_ready = False

    def begin(self) -> None:
        """It has started; nothing is known about it yet."""
        self._write("start")

    def ready(self) -> None:
        """It has come up: only the first call counts."""
        if not self._is_ready:
            self._is_ready = True
            self._write("ready")

    def end(self, code: int) -> None:
        """It ends with this code. One that fails for good waits, longer with each time lately; a signal ends that."""
        wait_s = self._wait_s() if code in PERMANENT else 0
        reason = clean(self.reason) if code else ""
        self._write("end", exit=code, reason=reason, lived_s=round(boottime() - self._began, 1))
        if wait_s:
            _pause(wait_s)

    def _wait_s(self) -> int:
        if self.directory is None:
            return 0
        since = wall_ms() - LATELY_MS
        earlier = [
            entry
            for entry in diary.recent(self.directory, self.program)
            if entry.host == self._host and entry.at_ms > since and (entry.exit or 0) in PERMANENT
        ]
        return WAITS_S[min(len(earlier), len(WAITS_S) - 1)]

    def _write(self, event: Literal["start", "ready", "end"], **more: Any) -> None:
        if self.directory is None:
            return
        given = {"host": self._host, "pid": os.getpid(), "image": self.image, "life": self.life, **more}
        try:
            diary.append(self.directory, Entry(wall_ms(), self.program, event, **given))
        except OSError as error:
            sys.stderr.write(f"KOALA_STARTS: this start is not counted, {self.directory}: {error.strerror}\n")
            self.directory = None


def counted(program: str, environ: Mapping[str, str], body: Callable[[Start], int]) -> int:
    """Run `body` between its start and its end on record; the exit code.

    A KoalaError becomes its exit code and one line on standard error; any other exception passes, on record as 1. A
    signal during the start, before the program listens itself, ends it as one that was asked to. Whoever was asked to
    end by a signal, and did it well, ends with KOALA_STOPPED_EXIT, by default 0; on record it is 0.
    """
    directory = environ.get("KOALA_STARTS")
    start = Start(program, Path(directory) if directory else None, environ.get("KOALA_IMAGE") or "dev")
    _on_signal(_leave)
    start.begin()
    code = int(Exit.FAILED)
    try:
        code = int(body(start))
    except KoalaError as error:
        start.reason, code = f"[{error.code}] {error}", int(error.exit)
        sys.stderr.write(redact(f"error[{error.code}]: {error}\n"))
    except SystemExit as asked:
        code = asked.code if isinstance(asked.code, int) else int(Exit.OK if asked.code is None else Exit.FAILED)
        start.stopped = code == Exit.OK
    except BaseException as error:
        start.reason = told(error)
        raise
    finally:
        _on_signal(_listen_no_more)
        start.end(code)
    return code or _stopped_exit(start, environ)


def _stopped_exit(start: Start, environ: Mapping[str, str]) -> int:
    """The code after a signal. An engine that comes up again starts those containers again whose code was not 0."""
    given = environ.get("KOALA_STOPPED_EXIT", "")
    return int(given) if start.stopped and given.isdecimal() else Exit.OK


def clean(reason: str) -> str:
    """A reason that may be kept: one line, short, without a known secret and without the password of any address."""
    line = re.sub(r"//[^/@\s]*@", f"//{STARS}@", " ".join(redact(reason).split()))
    return line[:LONGEST_REASON]


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(Exit.OK)


def _listen_no_more(number: int, frame: FrameType | None) -> None:
    """It is ending already."""


def _on_signal(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in SIGNALS:
        signal.signal(number, handler)


def _pause(seconds: float) -> None:
    """Wait, or until a signal."""
    asked = threading.Event()
    _on_signal(lambda number, frame: asked.set())
    asked.wait(seconds)
