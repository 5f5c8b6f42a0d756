"""A call with a time limit: whoever asks gets its answer in time, or none."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Limited(Generic[Answer]):
    """A callable. Only one call runs at a time: one that does not come back lets no further ones pile up."""

    def __init__(self, call: Callable[[], Answer], limit_s: float) -> None:
        self._call = call
        self._limit_s = limit_s
        self._turn = threading.Lock()

    def __call__(self) -> Answer:
        """The answer. Raises what the call raises, and TimeoutError after the limit."""
        if not self._turn.acquire(timeout=self._limit_s):
            raise TimeoutError("the last call has not come back")
        answers: list[Answer] = []
        errors: list[Exception] = []
        ended = threading.Event()

        def run() -> None:
            try:
                answers.append(self._call())
            except Exception as error:  # noqa: BLE001 - it is raised where it was asked for
                errors.append(error)
            finally:
                self._turn.release()
                ended.set()

        threading.Thread(target=run, name="look", daemon=True).start()
        if not ended.wait(self._limit_s):
            raise TimeoutError(f"it took longer than {self._limit_s:g} s")
        if errors:
            raise errors[0]
        return answers[0]
