"""Structured logs: actions from a fixed list, plus ids. Every line is redacted as rendered, last of all."""

from __future__ import annotations

import io
import logging
import sys
from typing import Any, TextIO

import structlog

from koala.redaction import redact

Logger = structlog.typing.FilteringBoundLogger


class Redacting(io.TextIOBase):
    """A text stream that lets no known secret through. Whole writes are searched: give it whole lines."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        self._stream.write(redact(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()


class _Lines:
    """Writes a log line to standard error, redacted, in one write."""

    def msg(self, message: str) -> None:
        sys.stderr.write(redact(message) + "\n")
        sys.stderr.flush()

    log = debug = info = warning = error = critical = exception = msg


def configure(fmt: str = "json", level: str = "info", **bound: Any) -> None:
    """Set up the logs of this process. `fmt` is json or text; `bound` goes into every line."""
    as_json: list[Any] = [structlog.processors.EventRenamer("action"), structlog.processors.JSONRenderer()]
    as_text: list[Any] = [structlog.dev.ConsoleRenderer(colors=False)]
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at" if fmt == "json" else "timestamp"),
            structlog.processors.format_exc_info,
            *(as_json if fmt == "json" else as_text),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *args: _Lines(),
    )
    structlog.contextvars.bind_contextvars(**bound)


def log() -> Logger:
    """The logger of this process."""
    logger: Logger = structlog.get_logger()
    return logger
