"""What is torn, and what was only never finished."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from worker.profiles import databases


@pytest.fixture
def default(tmp_path: Path) -> Path:
    return filled(tmp_path / "Default")


def filled(default: Path) -> Path:
    (default / databases.LOCAL_STORAGE).mkdir(parents=True)
    with closing(sqlite3.connect(default / "Cookies")) as connection:
        connection.execute("CREATE TABLE cookies (name TEXT)")
        connection.executemany("INSERT INTO cookies VALUES (?)", [(str(n) * 200,) for n in range(100)])
        connection.commit()
    storage = default / databases.LOCAL_STORAGE
    (storage / "000003.log").write_bytes(b"entries")
    (storage / "MANIFEST-000001").write_bytes(b"manifest")
    (storage / "CURRENT").write_text("MANIFEST-000001\n")
    return default


def test_what_is_whole_is_not_torn(default: Path) -> None:
    assert databases.torn(default) == []


def test_a_profile_that_was_never_used_is_not_torn(tmp_path: Path) -> None:
    assert databases.torn(tmp_path / "Default") == []


def test_a_database_with_other_bytes_in_it_is_torn(default: Path) -> None:
    path = default / "Cookies"
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 8192)
    assert databases.torn(default) == ["Cookies"]


def test_a_file_that_is_no_database_is_torn(default: Path) -> None:
    (default / "Cookies").write_bytes(b"a format of tomorrow" * 400)
    assert databases.torn(default) == ["Cookies"]


def test_an_empty_file_is_torn_only_when_it_once_held_something(default: Path, tmp_path: Path) -> None:
    good = filled(tmp_path / "good")
    (default / "Cookies").write_bytes(b"")
    (default / "Login Data").write_bytes(b"")
    assert databases.torn(default) == []
    assert databases.torn(default, good) == ["Cookies"]


def test_a_transaction_cut_in_the_middle_is_rolled_back_not_torn(default: Path) -> None:
    with closing(sqlite3.connect(default / "Cookies", isolation_level=None)) as cut:
        cut.execute("PRAGMA cache_size = 1")
        cut.execute("BEGIN")
        cut.execute("UPDATE cookies SET name = 'x'")
        cut.execute("PRAGMA cache_spill = 1")
        files = {path.name: path.read_bytes() for path in default.glob("Cookies*")}
    assert "Cookies-journal" in files
    for name, content in files.items():
        (default / name).write_bytes(content)
    assert databases.torn(default) == []
    with closing(sqlite3.connect(default / "Cookies")) as connection:
        assert connection.execute("SELECT count(*) FROM cookies WHERE name = 'x'").fetchone() == (0,)


@pytest.mark.parametrize("content", [b"", b"MANIFEST-000009\n", b"\xff\x00"])
def test_a_local_storage_that_lost_its_way_to_its_entries_is_torn(default: Path, content: bytes) -> None:
    (default / databases.LOCAL_STORAGE / "CURRENT").write_bytes(content)
    assert databases.torn(default) == [databases.LOCAL_STORAGE]


def test_a_local_storage_that_was_being_made_is_not_torn(default: Path) -> None:
    storage = default / databases.LOCAL_STORAGE
    (storage / "CURRENT").unlink()
    (storage / "000003.log").write_bytes(b"")
    assert databases.torn(default) == []
