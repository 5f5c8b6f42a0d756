"""The news page: something to read for visitors without an account, the same at each visit."""

from __future__ import annotations

from dataclasses import dataclass

SUBJECTS = ("The willow basket", "Gum tree tea", "Our night lamp", "The long rope", "A second mug")
TURNS = ("is back on the shelf", "now comes in a smaller box", "was tried for a week", "has a new neighbour")


@dataclass(frozen=True, slots=True)
class Story:
    """One item on the page."""

    number: int
    title: str


def stories(count: int) -> list[Story]:
    """The first `count` stories, newest first; at least none and at most fifty."""
    numbers = range(max(0, min(count, 50)), 0, -1)
    return [Story(n, f"{SUBJECTS[n % len(SUBJECTS)]} {TURNS[n % len(TURNS)]}") for n in numbers]
