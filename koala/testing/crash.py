"""Where a trial's attempt dies, as if its worker were killed at that instant: what was written stays, no more comes.

Effects and steps are named as in the workflow; without a name the first one is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Crash:
    """Just before or just after one request of the attempt to its parent."""

    request: str
    before: bool
    name: str = ""

    def at(self, request: str, args: dict[str, Any], *, before: bool) -> bool:
        """Whether this is the place."""
        of = args.get("name") or str(args.get("operation", "//")).split("/")[1]
        return (request, before) == (self.request, self.before) and self.name in ("", of)


class Died(BaseException):
    """The attempt is dead. No `except Exception` of a workflow catches it."""


def before_act(effect: str = "") -> Crash:
    """The ledger says `sent`, and `do` has not been called: `confirm` has to say ABSENT afterwards."""
    return Crash("sent", False, effect)


def after_act(effect: str = "") -> Crash:
    """`do` has returned, and its receipt is lost: `confirm` has to find it afterwards."""
    return Crash("happened", True, effect)


def after_receipt(effect: str = "") -> Crash:
    """The receipt is in the ledger: neither `do` nor `confirm` may be called again."""
    return Crash("happened", False, effect)


def in_step(step: str = "") -> Crash:
    """The step was done and its result is lost: it will be done again."""
    return Crash("checkpoint", True, step)


def after_step(step: str = "") -> Crash:
    """The step's result is saved."""
    return Crash("checkpoint", False, step)
