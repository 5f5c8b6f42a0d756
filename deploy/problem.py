"""What stops a command: one line about what is wrong, one about what to do."""

from __future__ import annotations

from deploy.exits import Exit


class Problem(Exception):
    """A command cannot go on. `advice` may be empty."""

    def __init__(self, text: str, advice: str = "", exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(text)
        self.advice = advice
        self.exit_code = exit_code


class DockerFailed(Problem):
    """A docker command failed; the text ends with what it said."""

    def __init__(self, command: str, code: int, said: str, advice: str, exit_code: Exit = Exit.FAILED) -> None:
        super().__init__(f"`{command}` ended with {code}: {said or 'it said nothing'}", advice, exit_code)
        self.code = code
        self.said = said


class PoolAway(Problem):
    """The pool does not answer: its store is away, or no container for the `koala` command starts."""

    def __init__(self, text: str, exit_code: Exit = Exit.STORE_AWAY) -> None:
        super().__init__(text, "`make status` says what runs; `make logs SERVICE=redis` what the store says", exit_code)


class KoalaSaid(Problem):
    """A `koala` command answered with an error; `code` is its exit code."""

    def __init__(self, command: str, code: int, said: str) -> None:
        super().__init__(f"`koala {command}` ended with {code}: {said}", "`make status` shows the pool")
        self.code = code
