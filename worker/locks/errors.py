"""Why a lock cannot be taken."""

from __future__ import annotations

from koala.errors import KoalaError, StoreWentBack, VolumeError
from koala.exits import Exit
from worker.locks.holder import Holder


class LockHeld(KoalaError):
    """The lock is held by a living process. `holder` names it, None when it has not written its name yet."""

    code, exit, retry = "lock_held", Exit.REFUSED, True

    def __init__(self, text: str, holder: Holder | None = None) -> None:
        super().__init__(text)
        self.holder = holder


class LockMissing(VolumeError):
    """There is no such lock file, or it is of another volume. That is not proof of anything."""

    code = "lock_missing"


class LockDamaged(VolumeError):
    """The lock file's text cannot be read, so its fence is unknown."""

    code = "lock_damaged"


class LowerFence(StoreWentBack):
    """The lock knows a higher fence than ours: the store went back in time, or we are the older attempt."""

    code = "lower_fence"
