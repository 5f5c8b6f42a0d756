"""What pages had in local storage at the last barrier and Chromium had not written yet.

Chromium writes local storage 5 s after a change, later when it changes often: a minute was measured. A login that is
kept there would be lost with the browser until then. So a barrier keeps it in a file beside the profile, together
with how far Chromium had written. Whoever opens the profile after a kill sees from Chromium's own log whether it has
written the origin since; what it has not is put back, what it has is newer and stays.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from worker.profiles import databases, files, leveldb
from worker.profiles.leveldb import Position

SIDE = "local-storage.json"
WRITTEN = b"META:"
"""With the origin behind it the key that Chromium puts or deletes in each of its writes for that origin."""

Items = dict[str, str]
Storage = dict[str, Items]
"""All items of each origin."""


@dataclass(frozen=True)
class Kept:
    """An origin's items at a barrier, and how far Chromium had written then."""

    items: Items
    position: Position


class Pending:
    """The file of one profile. Only for whoever has its lock."""

    def __init__(self, profile: Path) -> None:
        self.path = profile / SIDE
        self._database = profile / "user-data" / "Default" / databases.LOCAL_STORAGE

    def keep(self, now: Storage) -> None:
        """Keep these origins' items, and of those kept before the ones that Chromium has not written since.

        Atomic, durable, mode 0600; blocks for the disk. Call it a moment after the items were read.
        """
        before = {origin: one for origin, one in self._load().items() if origin not in now}
        here = leveldb.position(self._database)
        kept = {**self._unwritten(before), **{origin: Kept(items, here) for origin, items in now.items()}}
        files.replace_json(self.path, {origin: asdict(one) for origin, one in kept.items()})

    def lost(self, *, everything: bool = False) -> Storage:
        """What Chromium never wrote; with `everything` all that is kept, for after its database was replaced.

        Before a browser is started: that begins a new log. Empty when nothing is kept or the file is damaged.
        """
        kept = self._load()
        return {origin: one.items for origin, one in (kept if everything else self._unwritten(kept)).items()}

    def clear(self) -> None:
        """Forget all: everything is written, as after a clean close."""
        self.path.unlink(missing_ok=True)

    def _unwritten(self, kept: dict[str, Kept]) -> dict[str, Kept]:
        # One barrier keeps several origins at one position, and the log may have megabytes: it is read once for them.
        since = {one: leveldb.keys_since(self._database, one) for one in {one.position for one in kept.values()}}
        return {origin: one for origin, one in kept.items() if not _has_written(origin, since[one.position])}

    def _load(self) -> dict[str, Kept]:
        try:
            found = files.read_json(self.path) or {}
            return {origin: Kept(dict(one["items"]), Position(**one["position"])) for origin, one in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError):
            return {}


def _has_written(origin: str, keys: set[bytes] | None) -> bool:
    # A log that was begun since means that megabytes were written since.
    return keys is None or WRITTEN + origin.encode() in keys
