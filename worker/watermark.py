"""The highest fence that this data volume has seen: a store that shows a lower one has gone back in time.

Kept beside the profiles, outside the store, because the store's own memory is what a restore takes away. Lock files
know fences too, but those of attempts without a profile are removed with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala import keys
from koala.errors import StoreWentBack, VolumeError
from koala.fence import Fence
from koala.store import Store
from worker import locks
from worker.profiles import files
from worker.volume import Volume

NAME = ".koala-fence"
NEVER = Fence(0, 0)


@dataclass(frozen=True)
class Watermark:
    """What the file says. `ttl_ms` is the longest lease that was ever given under this volume's eyes."""

    fence: Fence = NEVER
    ttl_ms: int = 0


def read(where: Volume) -> Watermark:
    """The watermark; 0.0 when there is none yet. Raises VolumeError on a damaged one."""
    path = _path(where)
    try:
        content: Any = files.read_json(path) or {"fence": "0.0", "ttl_ms": 0}
        return Watermark(Fence.parse(content["fence"]), int(content["ttl_ms"]))
    except (ValueError, KeyError, TypeError) as error:
        raise VolumeError(f"{path} is damaged ({error}): see that no store was put back, then remove it") from None


def lift(where: Volume, fence: Fence, ttl_ms: int = 0) -> None:
    """Write down a fence that was given, and its TTL; a lower one changes nothing. Durable.

    Of two that write at once one may be forgotten: the mark is a little low then, and never too high. Raises OSError.
    Each attempt waits for it before its child hears of anything, some two milliseconds: what is done while the mark is
    behind could be done again with an older copy of the store, unnoticed. To lift it ahead, many fences at a time,
    would take a healthy store for one that went back; and a profile's own lock does know its fence, but only the next
    attempt on that profile looks at it.
    """
    known = read(where)
    if fence > known.fence or ttl_ms > known.ttl_ms:
        content = {"fence": str(max(fence, known.fence)), "ttl_ms": max(ttl_ms, known.ttl_ms)}
        files.replace_json(_path(where), content)


def highest(where: Volume) -> Fence:
    """The highest fence that the watermark or any lock file knows."""
    return max(read(where).fence, locks.highest_anywhere(where))


def of_store(store: Store) -> Fence:
    """The last fence that the store gave."""
    epoch, counter = (int(store.client.get(key) or 0) for key in (keys.EPOCH, keys.FENCE))
    return Fence(epoch, counter)


def refuse_lower(store: Store, where: Volume) -> None:
    """Raise StoreWentBack when the volume knows a fence that the store has not given yet. Blocking, short."""
    known = highest(where)  # before the store is asked: it may give more meanwhile, never less
    given = of_store(store)
    if given < known:
        raise StoreWentBack(
            f"the store went back: {where.path} knows fence {known}, the store has only given {given}. An older "
            "copy of it was put back without saying so. Stop all workers; then either bring the newer store back, or "
            "declare the restore: `koala restore declare --because …` (`make restore` does)"
        )


def _path(where: Volume) -> Path:
    return where.path / NAME
