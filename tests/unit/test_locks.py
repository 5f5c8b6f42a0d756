"""Kernel locks: what they prove, and what they do not."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala.errors import InvalidName, StoreWentBack, VolumeError
from koala.fence import Fence
from tests.support.data import data_volume
from tests.support.holders import holder
from worker import locks, volume
from worker.volume import Volume
from worker.wrappers import lockfile


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


@pytest.fixture
def path(where: Volume) -> Path:
    return locks.create(where, locks.child_path(where, Fence(7, 1)))


def test_a_lock_is_refused_while_another_process_holds_it_and_names_it(where: Volume, path: Path) -> None:
    with holder(where, path, "7.1") as process, pytest.raises(locks.LockHeld) as refused:
        locks.take(where, path, "child", Fence(7, 2))
    assert refused.value.holder is not None
    assert (refused.value.holder.pid, refused.value.holder.fence) == (process.pid, Fence(7, 1))


def test_a_killed_holder_is_proved_gone_at_once(where: Volume, path: Path) -> None:
    with holder(where, path, "7.1") as process:
        assert isinstance(locks.prove_gone(where, path), locks.Alive)
        process.kill()
        process.wait()
        proof = locks.prove_gone(where, path)
    assert isinstance(proof, locks.Gone)
    assert proof.holder is not None
    assert proof.holder.pid == process.pid


def test_a_frozen_holder_still_holds(where: Volume, path: Path) -> None:
    with holder(where, path, "7.1") as process:
        process.send_signal(19)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        assert isinstance(locks.prove_gone(where, path), locks.Alive)


def test_a_missing_lock_file_proves_nothing_and_is_not_made(where: Volume) -> None:
    path = locks.child_path(where, Fence(7, 9))
    assert isinstance(locks.prove_gone(where, path), locks.Unproved)
    assert not path.exists()
    with pytest.raises(locks.LockMissing):
        locks.take(where, path, "child", Fence(7, 9))


def test_a_lock_file_of_another_volume_proves_nothing(where: Volume, path: Path) -> None:
    with data_volume() as other:
        foreign = other.locks / path.name
        foreign.write_bytes(path.read_bytes())
        assert isinstance(locks.prove_gone(other, foreign), locks.Unproved)


def test_a_damaged_lock_file_proves_nothing(where: Volume, path: Path) -> None:
    path.write_bytes(b"{")
    assert isinstance(locks.prove_gone(where, path), locks.Unproved)
    with pytest.raises(locks.LockDamaged):
        locks.take(where, path, "child", Fence(7, 1))


def test_a_lock_taken_on_a_removed_file_is_worth_nothing(
    where: Volume, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = lockfile.lock

    def replaced_meanwhile(descriptor: int) -> bool:
        path.unlink()
        locks.create(where, path)
        return real(descriptor)

    monkeypatch.setattr(lockfile, "lock", replaced_meanwhile)
    assert isinstance(locks.prove_gone(where, path), locks.Unproved)


def test_a_lower_fence_is_refused_as_a_store_that_went_back(where: Volume, path: Path) -> None:
    locks.take(where, path, "child", Fence(8, 1)).release()
    with pytest.raises(StoreWentBack, match=r"8\.1"):
        locks.take(where, path, "child", Fence(7, 900))
    assert locks.highest_fence(where, path) == Fence(8, 1)


def test_fences_are_compared_as_numbers(where: Volume, path: Path) -> None:
    locks.take(where, path, "child", Fence(7, 9)).release()
    locks.take(where, path, "child", Fence(7, 10)).release()
    assert locks.highest_fence(where, path) == Fence(7, 10)


def test_a_proof_leaves_the_file_as_it_was(where: Volume, path: Path) -> None:
    locks.take(where, path, "child", Fence(7, 1)).release()
    before = path.read_bytes()
    assert isinstance(locks.prove_gone(where, path), locks.Gone)
    assert path.read_bytes() == before


def test_only_the_file_that_is_held_is_removed(where: Volume, path: Path) -> None:
    held = locks.take(where, path, "child", Fence(7, 1))
    path.unlink()
    locks.create(where, path)
    assert not held.remove()
    assert path.exists()


def test_creating_twice_keeps_the_first(where: Volume, path: Path) -> None:
    locks.take(where, path, "child", Fence(7, 1)).release()
    locks.create(where, path)
    assert locks.highest_fence(where, path) == Fence(7, 1)


def test_a_sweep_keeps_what_is_held_named_or_young(where: Volume, path: Path) -> None:
    named, held, profile = (
        locks.create(where, p)
        for p in (locks.driver_path(where), locks.browser_path(where), locks.profile_path(where, "alice"))
    )
    for file in (path, named, held, profile):
        os.utime(file, (time.time() - 100, time.time() - 100))
    young = locks.create(where, locks.driver_path(where))
    with holder(where, held, "7.2"):
        os.utime(held, (time.time() - 100, time.time() - 100))
        assert locks.sweep(where, {named.name}, older_than_seconds=50) == [path.name]
    assert all(file.exists() for file in (named, held, profile, young))


@pytest.mark.parametrize("name", ["../alice", "a/b", ".hidden", "", "a\nb", "x" * 65, "a..b"])
def test_a_profile_name_that_could_leave_its_directory_is_refused(where: Volume, name: str) -> None:
    with pytest.raises(InvalidName, match="A-Z"):
        locks.profile_path(where, name)


def test_locks_on_memory_are_refused() -> None:
    with pytest.raises(VolumeError, match="tmpfs"):
        volume.create(Path("/dev/shm") / f"koala-{os.getpid()}" / "data")  # noqa: S108 - it is refused


def test_an_empty_directory_in_the_volumes_place_is_refused(tmp_path: Path) -> None:
    with pytest.raises(VolumeError, match="mounted"):
        volume.open_volume(tmp_path)


def test_data_without_its_mark_is_not_given_a_new_one(where: Volume) -> None:
    (where.profiles / "alice").mkdir()
    (where.path / volume.MARK).unlink()
    with pytest.raises(VolumeError, match="restore"):
        volume.create(where.path)


def test_a_volume_keeps_its_mark(where: Volume) -> None:
    assert volume.create(where.path) == where
