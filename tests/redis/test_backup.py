"""A backup while the pool runs: the store's snapshot, and profiles that are copied closed or as their last snapshot.

And its way back: nothing is touched before all of it is known to be whole, and what was there is kept.
"""

from __future__ import annotations

import io
import json
import shutil
import stat
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import holds, keys, leases
from koala.fence import Fence
from koala.leases import Lease, Terms
from koala.settings import load
from koala.store import Store, open_store
from tests.support.command import Command
from tests.support.data import data_volume
from tests.support.holders import holder
from tests.support.pool import Pool
from tests.support.redis_server import RedisServer
from worker import locks, profiles
from worker.commands.backup import profiles as backup
from worker.commands.backup import snapshot, tree
from worker.commands.backup.profiles import Kept, NoRoom
from worker.commands.desk import Desk
from worker.commands.restore import profiles as restoring
from worker.commands.restore.profiles import BackupDamaged
from worker.profiles import ProfileDirectory, ProfileRecord
from worker.volume import Volume

TERMS = Terms(ttl_s=15, margin_s=2)


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as volume:
        yield volume


@pytest.fixture
def desk(store: Store, where: Volume) -> Desk:
    return Desk(load(data=where.path), store, where)


def profile(where: Volume, name: str, state: str = "clean", *, text: str = "logged in") -> ProfileDirectory:
    """A profile with logins, a cache and what a browser leaves behind; no browser ever had it."""
    directory = profiles.create(where, name)
    default = directory.user_data / "Default"
    for path in (default / "Local Storage" / "leveldb" / "000003.log", default / "Cache" / "data_1"):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.write_text(text)
    (directory.user_data / "Last Version").write_text("156.0.1.2")
    (directory.user_data / "SingletonLock").unlink(missing_ok=True)
    (directory.user_data / "SingletonLock").symlink_to("host-17")
    (default / "Local Storage" / "leveldb" / "CURRENT").write_text("MANIFEST-1\n")
    (default / "Local Storage" / "leveldb" / "MANIFEST-1").write_text("x")
    directory.save_session_cookies([{"name": "session", "value": text}])
    ProfileRecord(1, state, "/usr/lib/chromium/chromium", 156).save(directory.path / "profile.json")  # type: ignore[arg-type]
    return directory


def written(desk: Desk, wait_s: float = 0) -> tuple[bytes, dict[str, Kept]]:
    out = io.BytesIO()
    kept = {one.name: one for one in backup.write(desk, out, wait_s)}
    return out.getvalue(), kept


def unpacked(tar: bytes, to: Path) -> Path:
    with tarfile.open(fileobj=io.BytesIO(tar)) as archive:
        archive.extractall(to, filter="tar")
    return to / "profiles"


def put(where: Volume, tar: bytes, id_: str = "one") -> list[str]:
    return list(restoring.put(where, io.BytesIO(tar), id_))


def cookies(directory: ProfileDirectory) -> str:
    return str(directory.load_session_cookies()[0]["value"])


class TestStore:
    def test_a_snapshot_is_written_and_its_facts_are_told(self, pool: Pool, own_redis: RedisServer) -> None:
        store = open_store(own_redis.socket_url)
        Pool(store).running("anna")
        facts = snapshot.save(store, 30)
        assert facts["epoch"] == int(store.client.get(keys.EPOCH))
        assert (facts["fence"], facts["schema"]) == (1, 1)
        assert Path(facts["file"]).read_bytes().startswith(b"REDIS")
        store.close()

    def test_one_that_is_under_way_is_too_old(self, own_redis: RedisServer) -> None:
        """It does not have what was accepted since."""
        store = open_store(own_redis.socket_url)
        store.client.config_set("rdb-key-save-delay", 200_000)  # µs a key: this one takes a while
        store.client.mset({f"koala:x:{number}": 1 for number in range(3)})
        store.client.bgsave()
        store.client.config_set("rdb-key-save-delay", 0)
        store.client.set("koala:late", 1)
        before = int(store.client.info("persistence")["rdb_saves"])  # with the one that is under way
        snapshot.save(store, 30)
        assert int(store.client.info("persistence")["rdb_saves"]) == before + 1
        store.close()

    def test_a_full_disk_is_said(self, own_redis: RedisServer) -> None:
        store = open_store(own_redis.socket_url)
        (own_redis.home / "dump.rdb").mkdir()  # so that it cannot be written, also not by root
        with pytest.raises(snapshot.NotSaved, match="its disk full"):
            snapshot.save(store, 30)
        store.close()


class TestProfiles:
    def test_a_closed_profile_is_copied_whole_but_for_caches(self, desk: Desk, where: Volume, tmp_path: Path) -> None:
        profile(where, "anna")
        tar, kept = written(desk)
        assert (kept["anna"].state, kept["anna"].why) == ("closed", "")
        there = unpacked(tar, tmp_path) / "anna"
        found = {str(path.relative_to(there)) for path in there.rglob("*") if path.is_file()}
        leveldb = "user-data/Default/Local Storage/leveldb"
        assert found == {
            "profile.json",
            "session-cookies.json",
            "user-data/Last Version",
            f"{leveldb}/000003.log",
            f"{leveldb}/CURRENT",
            f"{leveldb}/MANIFEST-1",
        }
        modes = {stat.S_IMODE(path.stat().st_mode) for path in (there, *there.rglob("*"))}
        assert modes == {0o600, 0o700}
        assert list(where.tmp.iterdir()) == []

    def test_while_it_is_copied_nobody_else_has_it(
        self, desk: Desk, where: Volume, pool: Pool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A task of that profile is not handed over; one that is, waits: it costs nothing."""
        directory, task = profile(where, "anna"), pool.submit("anna")
        pool.slot("s1")
        seen: list[object] = []

        def copy(of: ProfileDirectory, to: Path) -> None:
            seen.append(pool.hand_over())
            seen.append(pool.acquire(task))
            seen.append(isinstance(locks.prove_gone(where, of.lock), locks.Alive))
            seen.append(leases.held(desk.store)["profile:anna"]["worker"].startswith("the backup of"))
            to.mkdir()

        monkeypatch.setattr(tree, "copy_closed", copy)
        written(desk)
        assert seen == [[], "held", True, True]
        assert (pool.task(task).attempts, pool.task(task).crashes) == (0, 0)
        assert pool.hand_over() == [task.id], "it can start at once when the copy is done"
        assert locks.highest_fence(where, directory.lock) > Fence(0, 0), "the lock was taken under the lease's fence"

    def test_one_in_use_is_kept_as_its_last_good_snapshot(self, desk: Desk, where: Volume, tmp_path: Path) -> None:
        directory = profile(where, "anna", text="before")
        good = directory.snapshots.keep_good(156)
        directory.save_session_cookies([{"name": "session", "value": "now"}])
        held = holds.take(desk.store, "anna", "task", "token", TERMS)
        assert isinstance(held, Lease)
        tar, kept = written(desk)
        assert kept["anna"].state == "snapshot"
        assert kept["anna"].at_ms == int(good.name.split("-")[1]) // 1_000_000
        assert "in use: task has it" in str(kept["anna"])
        there = unpacked(tar, tmp_path) / "anna"
        assert json.loads((there / "session-cookies.json").read_text())[0]["value"] == "before"
        assert ProfileRecord.load(there / "profile.json") == ProfileRecord(
            1, "clean", "/usr/lib/chromium/chromium", 156
        )

    def test_one_whose_lock_an_old_browser_holds_is_in_use_too(self, desk: Desk, where: Volume) -> None:
        directory = profile(where, "anna")
        directory.snapshots.keep_good(156)
        with holder(where, directory.lock, "1.1"):
            _, kept = written(desk)
        assert kept["anna"].state == "snapshot"
        assert leases.held(desk.store) == {}

    def test_one_that_becomes_free_in_time_is_copied_closed(
        self, desk: Desk, where: Volume, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        profile(where, "anna").snapshots.keep_good(156)
        held = holds.take(desk.store, "anna", "task", "token", TERMS)
        assert isinstance(held, Lease)
        monkeypatch.setattr(backup.time, "sleep", lambda _: holds.drop(desk.store, held))
        _, kept = written(desk, wait_s=30)
        assert kept["anna"].state == "closed"

    def test_one_in_use_without_a_snapshot_is_said_to_be_missing(self, desk: Desk, where: Volume) -> None:
        profile(where, "anna")
        profile(where, "bert")
        holds.take(desk.store, "anna", "task", "token", TERMS)
        tar, kept = written(desk)
        assert (kept["anna"].state, kept["bert"].state) == ("missing", "closed")
        assert "NOT in this backup" in str(kept["anna"])
        assert any("stays as it is" in line for line in put(where, tar))

    def test_an_unclean_one_brings_its_snapshot_along(self, desk: Desk, where: Volume, tmp_path: Path) -> None:
        """It may be torn: the first browser on it finds out, and falls back."""
        for name, state in (("anna", "unclean"), ("bert", "clean")):
            good = profile(where, name, state).snapshots.keep_good(156)
        tar, _ = written(desk)
        there = unpacked(tar, tmp_path)
        assert len(list((there / "anna" / "snapshots").glob("good-*"))) == 1
        assert not (there / "bert" / "snapshots" / good.name).exists()

    @pytest.mark.parametrize(
        "full", [OSError(28, "No space left on device"), shutil.Error([("a", "b", "No space left")])]
    )
    def test_a_full_disk_leaves_nothing_behind(
        self, desk: Desk, where: Volume, monkeypatch: pytest.MonkeyPatch, full: Exception
    ) -> None:
        profile(where, "anna")

        def copy(of: ProfileDirectory, to: Path) -> None:
            to.mkdir()
            raise full

        monkeypatch.setattr(tree, "copy_closed", copy)
        with pytest.raises(NoRoom, match="the disk is full"):
            written(desk)
        assert list(where.tmp.iterdir()) == []
        assert leases.held(desk.store) == {}


class TestPutBack:
    @pytest.fixture
    def tar(self, desk: Desk, where: Volume) -> bytes:
        for name in ("anna", "bert"):
            profile(where, name, text="then")
        return written(desk)[0]

    def changed(self, where: Volume) -> None:
        for name in ("anna", "bert"):
            profile(where, name, text="now")

    def test_what_was_there_is_kept_aside(self, where: Volume, tar: bytes) -> None:
        self.changed(where)
        profile(where, "carl", text="now")
        lines = put(where, tar)
        assert [cookies(ProfileDirectory(where, name)) for name in ("anna", "bert", "carl")] == ["then", "then", "now"]
        kept = where.path / "kept" / "one"
        assert sorted(path.name for path in kept.iterdir()) == ["anna", "bert"]
        assert json.loads((kept / "anna" / "session-cookies.json").read_text())[0]["value"] == "now"
        assert "what was there is in" in lines[0]
        assert list(where.tmp.iterdir()) == []

    def test_into_a_new_volume(self, tar: bytes) -> None:
        with data_volume() as other:
            put(other, tar)
            anna = profiles.find(other, "anna")
            assert cookies(anna) == "then"
            assert locks.highest_fence(other, anna.lock) == Fence(0, 0)
            assert stat.S_IMODE(anna.session_cookies.stat().st_mode) == 0o600

    def test_a_lock_file_keeps_its_fence(self, where: Volume, tar: bytes) -> None:
        """V7: it is not part of the backup, and is not put back."""
        anna = ProfileDirectory(where, "anna")
        locks.take(where, anna.lock, "browser", Fence(7 * 10**12, 5)).release()
        put(where, tar)
        assert locks.highest_fence(where, anna.lock) == Fence(7 * 10**12, 5)

    def test_one_that_a_browser_has_is_refused(self, where: Volume, tar: bytes) -> None:
        self.changed(where)
        with holder(where, ProfileDirectory(where, "anna").lock, "9000000000000.1"), pytest.raises(locks.LockHeld):
            put(where, tar)
        assert cookies(ProfileDirectory(where, "anna")) == "now"

    @pytest.mark.parametrize("cut", [100, 5000, -2000])
    def test_one_that_is_cut_short_touches_nothing(self, where: Volume, tar: bytes, cut: int) -> None:
        self.changed(where)
        with pytest.raises(BackupDamaged, match="not complete"):
            put(where, tar[:cut] if cut > 0 else tar[: tar.index(b"profiles.json")])
        assert cookies(ProfileDirectory(where, "anna")) == "now"
        assert not (where.path / "kept").exists()

    def test_one_that_was_changed_touches_nothing(self, where: Volume, tar: bytes) -> None:
        self.changed(where)
        assert tar.count(b'"value":"then"') == 2
        with pytest.raises(BackupDamaged, match="not as it was backed up"):
            put(where, tar.replace(b'"value":"then"', b'"value":"evil"'))
        assert cookies(ProfileDirectory(where, "bert")) == "now"

    @pytest.mark.parametrize("name", ["../../../escaped", "profiles/../../../../escaped", "profiles/anna/link"])
    def test_one_that_would_write_elsewhere_is_refused(self, where: Volume, name: str) -> None:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w|") as tar:
            member = tarfile.TarInfo(name)
            if name.endswith("link"):
                member.type, member.linkname = tarfile.SYMTYPE, "/etc"
            tar.addfile(member)
        with pytest.raises(BackupDamaged, match=r"outside the destination|neither a file nor a directory"):
            put(where, out.getvalue())
        assert not (where.path.parent / "escaped").exists()

    @pytest.mark.parametrize("renames", range(4))
    def test_killed_between_any_two_renames_the_same_again_goes_on(
        self, where: Volume, tar: bytes, monkeypatch: pytest.MonkeyPatch, renames: int
    ) -> None:
        self.changed(where)
        left, rename = [renames], Path.rename

        def once(path: Path, target: Path) -> Path:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return rename(path, target)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", once)
            with pytest.raises(KeyboardInterrupt):
                put(where, tar)
        put(where, tar)
        for name in ("anna", "bert"):
            assert cookies(ProfileDirectory(where, name)) == "then"
            kept = where.path / "kept" / "one" / name / "session-cookies.json"
            assert json.loads(kept.read_text())[0]["value"] == "now"


class TestCommands:
    @pytest.fixture
    def koala(self, redis_server: RedisServer, redis: object, where: Volume) -> Command:
        return Command({"KOALA_REDIS_URL": redis_server.socket_url, "KOALA_DATA": str(where.path)})

    def test_backup_and_restore_by_command(self, koala: Command, where: Volume, tmp_path: Path) -> None:
        profile(where, "anna", text="then")
        tar = tmp_path / "profiles.tar"
        with tar.open("wb") as out:
            done = subprocess.run(
                [sys.executable, "-m", "worker", "backup", "profiles", "--wait=0"],
                env=koala._environment({}),
                stdout=out,
                stderr=subprocess.PIPE,
                text=True,
                check=True,
            )
        assert "profile anna: copied closed" in done.stderr
        profile(where, "anna", text="now")
        with tar.open("rb") as back:
            subprocess.run(
                [sys.executable, "-m", "worker", "restore", "profiles", "--id=one"],
                env=koala._environment({}),
                stdin=back,
                check=True,
            )
        assert cookies(ProfileDirectory(where, "anna")) == "then"

    def test_the_store(self, koala: Command) -> None:
        said = koala("backup", "store")
        assert said.code == 0, said.err
        assert said.data["file"].endswith("dump.rdb")
