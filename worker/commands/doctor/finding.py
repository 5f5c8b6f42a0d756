"""What a check found, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from koala.errors import KoalaError, told
from koala.exits import Exit


class State(StrEnum):
    """How it stands."""

    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True)
class Finding:
    """One line of the report. `do` is empty when nothing is to be done; `exit` counts for a failed one."""

    name: str
    state: State
    found: str
    do: str = ""
    exit: Exit = Exit.FAILED

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {"name": self.name, "state": self.state.value, "found": self.found, "do": self.do}


def ok(name: str, found: str) -> Finding:
    """All is well."""
    return Finding(name, State.OK, found)


def warn(name: str, found: str, do: str) -> Finding:
    """It works, but not as it should."""
    return Finding(name, State.WARN, found, do)


def fail(name: str, found: str, do: str, exit: Exit = Exit.FAILED) -> Finding:
    """Koala does not work like this."""
    return Finding(name, State.FAIL, found, do, exit)


def graded(name: str, found: str, do: str, *, fails: bool, warns: bool, exit: Exit = Exit.FAILED) -> Finding:
    """By how bad it is."""
    if fails:
        return fail(name, found, do, exit)
    return warn(name, found, do) if warns else ok(name, found)


Check = Callable[[], Iterator[Finding]]


def safely(name: str, check: Check) -> Iterator[Finding]:
    """What a check finds; an error of its own is a finding too, so that the others still run."""
    try:
        yield from check()
    except KoalaError as error:
        yield fail(name, str(error), "", error.exit)
    except Exception as error:  # noqa: BLE001 - a check that breaks must not hide the others
        yield fail(name, f"the check itself failed: {told(error)}", "report this")
