"""The words for how the pool is, in their order: the first that holds is the state (`prometheus/rules/state.yml`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class State:
    """A word, and how bad it is: red wants a person now, orange soon, blue is somebody's decision."""

    word: str
    color: str


STATES = (
    State("store away", "red"),
    State("no scheduler", "red"),
    State("crash loop", "red"),
    State("held on purpose", "blue"),
    State("stuck", "red"),
    State("no worker", "orange"),
    State("overload", "orange"),
    State("starved", "orange"),
    State("failing", "orange"),
    State("fine", "green"),
    State("idle", "green"),
)
"""By rank, which begins at 1."""
