"""A profile on disk: opened only by the holder of its lock, in a known state, and never silently replaced."""

from __future__ import annotations

import dataclasses
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala import clock, names
from koala.errors import KoalaError, NotFound, VolumeError
from koala.exits import Exit
from worker import locks
from worker.locks import HeldLock
from worker.profiles import databases, files, preferences
from worker.profiles.pending import Pending, Storage
from worker.profiles.record import ProfileRecord
from worker.profiles.snapshots import SIDE, Snapshots
from worker.volume import Volume

SINGLETONS = ("SingletonLock", "SingletonSocket", "SingletonCookie")


class ProfileNewer(KoalaError):
    """The profile was written by a newer Chromium; this one would sign it out."""

    code, exit = "profile_newer", Exit.REFUSED


class ProfileBinary(KoalaError):
    """The profile belongs to another browser binary, or a headless shell was asked to open it."""

    code, exit = "profile_binary", Exit.REFUSED


class ProfileDamaged(KoalaError):
    """The profile's databases are torn and no good snapshot is left."""

    code, exit = "profile_damaged", Exit.REFUSED


@dataclass(frozen=True)
class Preparation:
    """What was done to a profile before it was opened; for the task's timeline."""

    first_open: bool = False
    was_unclean: bool = False
    removed: tuple[str, ...] = ()
    """Stale Singleton files, with the host and pid they named."""
    torn: tuple[str, ...] = ()
    """Damaged databases; not empty means that the last good snapshot was restored, or a new profile
    cleared.
    """
    restored: str | None = None
    """The snapshot that was put in place."""
    upgraded_from: int | None = None
    """The older major version whose files were copied before this open."""
    refused_cookies: tuple[str, ...] = ()
    """Names of kept session cookies that the browser would not take again."""
    storage_put_back: tuple[str, ...] = ()
    """Origins whose local storage a killed browser had not written."""
    refused_storage: tuple[str, ...] = ()
    """Such origins that could not be put back."""


class ProfileDirectory:
    """One profile below the volume. The path exists; everything that changes it wants the profile's lock."""

    def __init__(self, volume: Volume, name: str) -> None:
        self.name = names.check("profile", name)
        self.volume = volume
        self.path = volume.profiles / self.name
        self.user_data = self.path / "user-data"
        self.preferences = self.user_data / "Default" / "Preferences"
        self.session_cookies = self.path / SIDE
        self.lock = locks.profile_path(volume, name)
        self.snapshots = Snapshots(self.path)
        self.pending = Pending(self.path)

    def record(self) -> ProfileRecord:
        """The profile's record. Raises NotFound, ProfileDamaged."""
        try:
            found = ProfileRecord.load(self.path / "profile.json")
        except ValueError as error:
            raise ProfileDamaged(f"{self.path}/profile.json is damaged ({error}): restore or delete it") from None
        if found is None:
            raise NotFound(f"no profile {self.name!r}: make it with `koala profile login {self.name}`")
        return found

    def last_major(self) -> int | None:
        """The Chromium major version that last wrote the user data; None before the first open."""
        try:
            return int((self.user_data / "Last Version").read_text().split(".")[0])
        except (FileNotFoundError, ValueError):
            return self.record().major

    def prepare(
        self, held: HeldLock, binary: Path, major: int, *, adopt: bool = False, roll_back: bool = False
    ) -> Preparation:
        """Make the profile ready for a browser of that major version and mark it unclean.

        `adopt` takes over a profile that another binary made; `roll_back` restores the copy made before a
        newer version opened it, losing what happened since. Raises ProfileNewer, ProfileBinary,
        ProfileDamaged.
        """
        self._refuse_foreign_lock(held)
        record = self.record()
        self._refuse_other_binary(record, binary, adopt)
        restored = self._roll_back_or_refuse(major, roll_back)
        torn = self._torn(major) if record.state == "unclean" else ()
        if torn:
            restored = self._fall_back(torn, major)
        upgraded_from = self._keep_before_upgrade(major)
        removed = tuple(self._remove_singletons())
        preferences.prepare(self.preferences)
        opened = dataclasses.replace(record, state="unclean", binary=str(binary), major=major)
        dataclasses.replace(opened, fence=str(held.holder.fence)).save(self.path / "profile.json")
        new, unclean = record.state == "new", record.state == "unclean"
        return Preparation(new, unclean, removed, torn, restored, upgraded_from)

    def mark_clean(self, held: HeldLock) -> None:
        """After a clean close: keep a good snapshot, then mark the profile clean."""
        self._refuse_foreign_lock(held)
        record = self.record()
        self.pending.clear()
        self.snapshots.keep_good(record.major or 0)
        dataclasses.replace(record, state="clean").save(self.path / "profile.json")

    def save_session_cookies(self, cookies: list[dict[str, Any]]) -> None:
        """Replace the side file of cookies that the browser itself forgets. Atomic, durable, mode 0600."""
        files.replace_json(self.session_cookies, cookies)

    def load_session_cookies(self) -> list[dict[str, Any]]:
        """The kept session cookies; empty when none were kept or the file is damaged."""
        try:
            return files.read_json(self.session_cookies) or []
        except ValueError:
            return []

    def lost_storage(self, found: Preparation) -> Storage:
        """Local storage of the last barrier that the killed browser had not written. Before a browser is started."""
        return self.pending.lost(everything=found.restored is not None) if found.was_unclean else {}

    def delete(self, held: HeldLock) -> None:
        """Remove the profile with all its logins. The lock file stays: it keeps the fence."""
        self._refuse_foreign_lock(held)
        doomed = self.path.with_name(f".deleted-{self.name}-{clock.wall_ms()}")
        self.path.rename(doomed)
        shutil.rmtree(doomed)

    def _refuse_foreign_lock(self, held: HeldLock) -> None:
        if held.path != self.lock or not held.is_held:
            raise ValueError(f"{held.path} is not the held lock of profile {self.name!r}")

    def _refuse_other_binary(self, record: ProfileRecord, binary: Path, adopt: bool) -> None:
        if record.binary not in (None, str(binary)) and not adopt:
            raise ProfileBinary(
                f"profile {self.name!r} was made by {record.binary}, not {binary}: another browser may not "
                "be able to read its logins. Set that binary, or adopt the profile and log in again"
            )

    def _roll_back_or_refuse(self, major: int, roll_back: bool) -> str | None:
        newer = self.last_major()
        if newer is None or newer <= major:
            return None
        snapshot = self.snapshots.for_major(major)
        if not roll_back or snapshot is None:
            raise ProfileNewer(
                f"profile {self.name!r} was written by Chromium {newer}, this one is {major}: {_way_back(snapshot)}"
            )
        self.snapshots.restore(snapshot, self.path / "rolled-back")
        return snapshot.name

    def _torn(self, major: int) -> tuple[str, ...]:
        good = self.snapshots.last_good(major)
        return tuple(databases.torn(self.user_data / "Default", good and good / "user-data" / "Default"))

    def _fall_back(self, torn: tuple[str, ...], major: int) -> str:
        snapshot = self.snapshots.last_good(major)
        if snapshot is None:
            raise ProfileDamaged(
                f"profile {self.name!r}: {', '.join(torn)} torn and there is no good snapshot. "
                f"Import a storage state or delete the profile and log in again"
            )
        self.snapshots.restore(snapshot, self.path / "damaged")
        return snapshot.name

    def _keep_before_upgrade(self, major: int) -> int | None:
        older = self.last_major()
        if older is None or older >= major or not self.user_data.exists():
            return None
        self.snapshots.keep_before_upgrade(older)
        return older

    def _remove_singletons(self) -> list[str]:
        # Whoever holds the kernel's lock knows that no browser lives here, whatever host these files name.
        removed = []
        for path in (self.user_data / name for name in SINGLETONS):
            if path.is_symlink() or path.exists():
                removed.append(f"{path.name} -> {path.readlink()}" if path.is_symlink() else path.name)
                path.unlink()
        return removed


def _way_back(snapshot: Path | None) -> str:
    """What a person can do about a profile that a newer version wrote."""
    if snapshot is None:
        return "it has no copy from before. Run a worker with the newer browser, or delete it and log in again"
    return (
        f"the copy from before ({snapshot.name}) is put back when the pool goes back to this image: "
        "`make deploy` says so by itself, `koala image back` by hand; or run a worker with the newer browser"
    )


def create(volume: Volume, name: str) -> ProfileDirectory:
    """The profile of that name, made new and empty unless it exists, with its lock file.

    Raises InvalidName.
    """
    profile = ProfileDirectory(volume, name)
    profile.user_data.mkdir(mode=0o700, parents=True, exist_ok=True)
    locks.create(volume, profile.lock)
    if ProfileRecord.load(profile.path / "profile.json") is None:
        ProfileRecord(created=clock.wall_ms()).save(profile.path / "profile.json")
    return profile


def find(volume: Volume, name: str) -> ProfileDirectory:
    """The profile of that name, never making one. Raises InvalidName, NotFound."""
    profile = ProfileDirectory(volume, name)
    profile.record()
    return profile


def every(volume: Volume) -> list[ProfileDirectory]:
    """All profiles of the volume by name; a damaged one too. Raises VolumeError when the volume is not
    there.
    """
    if not volume.profiles.is_dir():
        raise VolumeError(f"{volume.profiles} is missing: is the data volume mounted?")
    found = (entry.name for entry in volume.profiles.iterdir() if (entry / "profile.json").is_file())
    return [ProfileDirectory(volume, name) for name in sorted(found) if names.PATTERN.fullmatch(name)]
