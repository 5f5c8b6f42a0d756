"""After a restore: who has to be gone before anything is called absent, and how a store that went back is noticed.

Real locks of real processes on a real disk.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from koala import keys, restore
from koala.attempt import Attempt
from koala.cli.failure import guarded
from koala.errors import StoreWentBack, VolumeError
from koala.exits import Exit
from koala.fence import Fence
from koala.restore import Word
from koala.settings import load
from koala.store import Store
from tests.support.command import Said
from tests.support.data import data_volume
from tests.support.holders import holder
from tests.support.pool import OPERATION, PRICE, Pool
from worker import locks, watermark
from worker.commands import restore as restoring
from worker.commands.desk import Desk
from worker.commands.restore import declare
from worker.takeover import Takeover
from worker.volume import Volume

OLD = "5.1"


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as volume:
        yield volume


def lock(where: Volume, name: str) -> Path:
    return locks.create(where, where.locks / name)


def restored(pool: Pool, where: Volume, profile: str = "", **word: object) -> Attempt:
    """The first attempt after a restore, at an effect that may have been done."""
    task = pool.submit(profile)
    given = Word(**{"by": "eva", "because": "a test", "machine": where.machine, **word})  # type: ignore[arg-type]
    assert restore.declare(pool.store, restore.next_epoch(pool.store, 0), given, ttl_ms=1, doubt_ms=0)
    pool.store.client.set(keys.HOLD, 0)
    attempt = pool.start(pool.task(task))
    assert attempt.look(OPERATION, PRICE)["state"] == "sent"
    return attempt


def proved(where: Volume, attempt: Attempt, own_lock: str = "") -> str:
    return Takeover(where, attempt).prove(OPERATION, own_lock)


class TestProof:
    @pytest.mark.parametrize("name", ["child-5.1", "driver-a", "browser-b", "profile-other"])
    def test_every_lock_of_an_older_epoch_has_to_be_free(self, pool: Pool, where: Volume, name: str) -> None:
        """V4, V5: nobody knows which attempt acted last."""
        attempt = restored(pool, where)
        path = lock(where, name)
        with holder(where, path, OLD):
            reason = proved(where, attempt)
            assert name in reason
            assert "before the restore" in reason
        assert proved(where, attempt) == ""

    def test_one_that_a_younger_attempt_holds_is_no_obstacle(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where)
        with holder(where, lock(where, "profile-other"), attempt.fence):
            assert proved(where, attempt) == ""

    def test_a_file_that_says_nothing_is_no_proof(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where)
        lock(where, "driver-a").write_text("torn")
        assert "damaged" in proved(where, attempt)

    def test_settle_begins_with_the_proof(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where)
        takeover = Takeover(where, attempt)
        with holder(where, lock(where, "child-5.1"), OLD):
            takeover.prove(OPERATION, "")
            assert takeover.begin_look(OPERATION, 0) == 0.0 or not takeover.quiet
            assert OPERATION not in takeover.quiet
        assert takeover.prove(OPERATION, "") == ""
        assert 9 < takeover.begin_look(OPERATION, 10) <= 10
        assert takeover.begin_look(OPERATION, 0) == 0
        assert OPERATION in takeover.quiet

    def test_an_older_browser_of_the_profile_that_has_not_started_never_will(self, pool: Pool, where: Volume) -> None:
        path = lock(where, "profile-anna")
        attempt = restored(pool, where, "anna")
        assert proved(where, attempt) == ""
        with pytest.raises(locks.LowerFence):
            locks.take(where, path, "browser", Fence.parse(OLD))

    def test_our_own_browser_holds_the_profiles_lock(self, pool: Pool, where: Volume) -> None:
        path = lock(where, "profile-anna")
        attempt = restored(pool, where, "anna")
        with holder(where, path, attempt.fence):
            assert proved(where, attempt, own_lock="profile-anna") == ""

    def test_other_machines_of_the_backup_need_a_persons_word(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where, machines=frozenset(["elsewhere"]))
        assert "machine elsewher, not reported gone" in proved(where, attempt)

    def test_which_was_given_when_it_was_declared(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where, machines=frozenset(["elsewhere"]), word="it burned")
        assert proved(where, attempt) == ""

    def test_a_worker_elsewhere_cannot_see_the_locks_of_the_one_that_declared(self, pool: Pool, where: Volume) -> None:
        attempt = restored(pool, where, machine="the first", machines=frozenset(["elsewhere"]), word="it burned")
        assert "not reported gone" in proved(where, attempt)


class TestWatermark:
    def test_it_only_rises(self, where: Volume) -> None:
        for fence, ttl_ms in (("7.3", 10), ("7.2", 5), ("6.9", 20)):
            watermark.lift(where, Fence.parse(fence), ttl_ms)
        assert watermark.read(where) == watermark.Watermark(Fence(7, 3), 20)

    def test_a_new_volume_has_none(self, where: Volume) -> None:
        assert watermark.read(where) == watermark.Watermark()

    def test_a_damaged_one_is_said(self, where: Volume) -> None:
        (where.path / watermark.NAME).write_text("{")
        with pytest.raises(VolumeError, match="is damaged"):
            watermark.read(where)

    def test_lock_files_count_too(self, where: Volume) -> None:
        locks.take(where, lock(where, "profile-anna"), "browser", Fence(8, 1)).release()
        watermark.lift(where, Fence(7, 3))
        assert watermark.highest(where) == Fence(8, 1)

    @pytest.mark.parametrize("by", ["mark", "lock"])
    def test_a_store_that_went_back_is_refused(self, pool: Pool, where: Volume, by: str) -> None:
        """V7: by what a lock file knows, or, where no lock is left, by the mark."""
        epoch = int(pool.store.client.get(keys.EPOCH))
        pool.running("anna")
        ahead = Fence(epoch, 2)
        if by == "mark":
            watermark.lift(where, ahead)
        else:
            locks.take(where, lock(where, "profile-anna"), "browser", ahead).release()
        with pytest.raises(StoreWentBack, match="restore declare"):
            watermark.refuse_lower(pool.store, where)
        pool.running("bert")
        watermark.refuse_lower(pool.store, where)

    def test_a_new_store_is_none_that_went_back(self, store: Store, where: Volume) -> None:
        watermark.lift(where, Fence(1_700_000_000_000, 99))
        watermark.refuse_lower(store, where)


class TestDeclare:
    """The command, as the deploy tool and a person give it."""

    @pytest.fixture
    def koala(
        self, store: Store, where: Volume, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> Callable[..., Said]:
        """In this process: what a start of Python costs is no part of it."""
        monkeypatch.setattr(declare, "SILENT_S", 0.3)
        monkeypatch.setattr(restoring, "desk", lambda _, **__: nullcontext(Desk(load(), store, where)))

        def run(*words: str) -> Said:
            parser = argparse.ArgumentParser()
            restoring.add(parser.add_subparsers(dest="command"))
            code = guarded(lambda: restoring.run(load(data=where.path), parser.parse_args(["restore", *words])))
            said = capsys.readouterr()
            return Said(int(code), said.out, said.err)

        return run

    def test_the_epoch_is_above_all_that_is_known_and_kept_outside(
        self, koala: Callable[..., Said], store: Store, where: Volume
    ) -> None:
        """V6: also when the clock is behind."""
        far = 9 * 10**14
        locks.take(where, lock(where, "profile-anna"), "browser", Fence(far, 1)).release()
        first = koala("declare", "--because=a test", "--json").data["epoch"]
        assert first == far + 1
        assert watermark.read(where).fence == Fence(far + 1, 0)
        store.client.set(keys.EPOCH, 1)  # the same backup once more
        store.client.delete(keys.RESTORED)
        assert koala("declare", "--because=a test", "--json").data["epoch"] == far + 2

    def test_no_lease_for_as_long_as_this_volume_has_seen_one(
        self, koala: Callable[..., Said], store: Store, where: Volume
    ) -> None:
        """V5: raised after the backup, so that the store does not know of it, nor this command's settings."""
        watermark.lift(where, Fence(1, 1), 120_000)
        assert koala("declare", "--because=a test", "--json").data["hold_s"] == 120

    def test_it_is_refused_while_workers_run(self, koala: Callable[..., Said], pool: Pool) -> None:
        pool.slot("s1", worker="w7")
        task = pool.running("anna").task
        said = koala("declare", "--because=a test")
        assert (said.code, "w7" in said.err) == (Exit.REFUSED, True)
        assert pool.status(task) == "running"

    def test_it_is_refused_while_somebody_holds_a_lock(
        self, koala: Callable[..., Said], store: Store, where: Volume
    ) -> None:
        with holder(where, lock(where, "child-5.1"), OLD):
            for words in (("check",), ("declare", "--because=a test")):
                said = koala(*words)
                assert (said.code, "child-5.1 is held by" in said.err) == (Exit.REFUSED, True)
            assert restore.last(store) is None
            assert koala("declare", "--because=a test", "--anyway").code == 0
        assert koala("check").code == 0

    def test_other_machines_have_to_be_spoken_for(self, koala: Callable[..., Said], pool: Pool) -> None:
        pool.start(pool.submit("anna"), facts={"machine": "elsewhere"})
        said = koala("declare", "--because=a test")
        assert (said.code, "elsewher" in said.err) == (Exit.REFUSED, True)
        assert koala("declare", "--because=a test", "--others-gone=it burned").code == 0
        last = restore.last(pool.store)
        assert last
        assert (last.machines, last.word) == (frozenset(["elsewhere"]), "it burned")

    def test_why_has_to_be_said(self, koala: Callable[..., Said]) -> None:
        assert koala("declare", "--because= ").code == Exit.USAGE
        assert json.loads(koala("declare", "--because=x", "--json").out)["tasks"] == 0
