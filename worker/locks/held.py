"""A lock in our hands."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType

from worker.locks.holder import Holder
from worker.wrappers import lockfile


class HeldLock:
    """A lock in our hands, until `release`, the end of the context, or our end."""

    def __init__(self, path: Path, descriptor: int, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        self._descriptor = descriptor

    @property
    def is_held(self) -> bool:
        return self._descriptor >= 0

    def release(self) -> None:
        """Give the lock back; again is harmless."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def remove(self) -> bool:
        """Remove the file if it is still ours, and give the lock back.

        Never for a profile's: it keeps the fence.
        """
        ours = self._descriptor >= 0 and lockfile.is_at(self._descriptor, str(self.path))
        if ours:
            self.path.unlink()
        self.release()
        return ours

    def __enter__(self) -> HeldLock:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
