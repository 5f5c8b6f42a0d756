"""Structured logs: actions from a fixed list, plus ids. Every line is redacted as rendered, last of all."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog

from koala.redaction import redact

Logger = structlog.typing.FilteringBoundLogger


class _Redacting:
    """Writes a line to standard error, redacted, in one write."""

    def msg(self, message: str) -> None:
        sys.stderr.write(redact(message) + "\n")
        sys.stderr.flush()

    log = debug = info = warning = error = critical = exception = msg


def configure(fmt: str = "json", level: str = "info", **bound: Any) -> None:
    """Set up the logs of this process. `fmt` is json or text; `bound` goes into every line."""
    renderer: Any = (
        structlog.processors.JSONRenderer() if fmt == "json" else structlog.dev.ConsoleRenderer(colors=False)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.EventRenamer("action"),
            structlog.processors.format_exc_info,
            renderer,
        ]
        if fmt == "json"
        else [
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.getLevelNamesMapping()[level.upper()]),
        logger_factory=lambda *args: _Redacting(),
    )
    structlog.contextvars.bind_contextvars(**bound)


def log() -> Logger:
    """The logger of this process."""
    logger: Logger = structlog.get_logger()
    return logger
