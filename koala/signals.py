"""What a workflow may raise to say how its attempt ends. No errors: `except Exception` does not catch them."""

from __future__ import annotations

from typing import Any

from koala.text import exact


class Signal(BaseException):
    """Root of the signals."""


class Snooze(Signal):
    """End this attempt and run the task again after `seconds`. Costs no attempt."""

    def __init__(self, seconds: float, reason: str = "snoozed by its workflow") -> None:
        super().__init__(reason)
        self.seconds = seconds
        self.reason = reason


class Cancel(Signal):
    """End the task as cancelled."""

    def __init__(self, reason: str = "cancelled by its workflow") -> None:
        super().__init__(reason)
        self.reason = reason


class AskReview(Signal):
    """Ask a person before going on. `subject` is what the answer is about: the same subject is asked once."""

    def __init__(self, subject: str, describe: Any = None, reason: str = "its workflow asks") -> None:
        super().__init__(reason)
        self.subject = exact("the subject of a question", subject)
        self.describe = describe
        self.reason = reason


class End(Signal):
    """How Koala itself ends an attempt from inside: parked, crashed, failed, or in review with a question."""

    def __init__(self, outcome: str, reason: str, **details: Any) -> None:
        super().__init__(reason)
        self.outcome = outcome
        self.reason = reason
        self.details = details
