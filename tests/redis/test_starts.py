"""Starts on record are copied into the store, each once, and `koala status` shows what fails."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from socket import gethostname

import pytest

from koala import keys, starts
from koala.starts import Start, diary
from koala.store import Store
from tests.support.cli import Cli
from tests.support.redis_server import RedisServer


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def life(folder: Path, code: int = 66, reason: str = "KOALA_SLOTS is wrong", program: str = "worker") -> None:
    """One start of a program, and its end."""
    start = Start(program, folder, "1.2")
    start.begin()
    start.reason = reason
    start._wait_s = lambda: 0  # type: ignore[method-assign]
    start.end(code)


def number(store: Store) -> tuple[int, int]:
    found = starts.seen(store)["worker"]
    return found.starts, found.failures


def test_nothing_is_there_before_anything_has_started(store: Store, tmp_path: Path) -> None:
    assert starts.copy(store, tmp_path / "missing") == 0
    assert starts.copy(store, tmp_path) == 0
    assert starts.seen(store) == {}


def test_each_line_is_counted_once(store: Store, tmp_path: Path) -> None:
    life(tmp_path)
    assert starts.copy(store, tmp_path) == 2
    assert starts.copy(store, tmp_path) == 0
    life(tmp_path)
    life(tmp_path, program="scheduler")
    assert starts.copy(store, tmp_path) == 4
    assert number(store) == (2, 2)
    assert starts.seen(store)["scheduler"].row == 1


def test_two_who_copy_at_once_count_nothing_twice(store: Store, tmp_path: Path) -> None:
    life(tmp_path)
    meet = threading.Barrier(8)

    def copy(_: int) -> int:
        meet.wait(10)
        return starts.copy(store, tmp_path)

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(copy, range(8))) == 2
    assert number(store) == (1, 1)


def test_a_line_that_is_still_being_written_waits_for_its_end(store: Store, tmp_path: Path) -> None:
    life(tmp_path)
    path = tmp_path / "worker.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    assert starts.copy(store, tmp_path) == 1
    path.write_bytes(whole)
    assert starts.copy(store, tmp_path) == 1
    assert number(store) == (1, 1)


def test_lines_of_nobody_are_left_out(store: Store, tmp_path: Path) -> None:
    (tmp_path / "worker.jsonl").write_bytes(b'nonsense\n{"at_ms": 1}\n\xff\xfe\n')
    life(tmp_path)
    starts.copy(store, tmp_path)
    assert number(store) == (1, 1)


@pytest.mark.parametrize("between", [lambda store, folder: None, starts.copy], ids=["late", "between"])
def test_a_large_file_is_set_aside_and_what_is_written_late_still_counts(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, between: Callable[[Store, Path], object]
) -> None:
    monkeypatch.setattr(diary, "LARGEST", 1000)
    for _ in range(5):
        life(tmp_path)
    late = (tmp_path / "worker.jsonl").open("ab")
    line = (tmp_path / "worker.jsonl").read_bytes().splitlines(keepends=True)[0]
    starts.copy(store, tmp_path)
    assert not (tmp_path / "worker.jsonl").exists()
    life(tmp_path)
    between(store, tmp_path)
    late.write(line)
    late.close()
    starts.copy(store, tmp_path)
    assert starts.seen(store)["worker"].starts == 7


def test_what_was_set_aside_and_copied_goes_after_a_while(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diary, "LARGEST", 100)
    life(tmp_path)
    starts.copy(store, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    monkeypatch.setattr("koala.starts.copying.KEPT_S", -60)
    starts.copy(store, tmp_path)
    assert list(tmp_path.iterdir()) == []
    starts.copy(store, tmp_path)
    assert number(store) == (1, 1)


class TestStatus:
    def test_a_program_that_fails_to_start_is_shown_with_its_reason_and_what_to_do(
        self, koala: Cli, store: Store, tmp_path: Path
    ) -> None:
        for _ in range(3):
            life(tmp_path)
        starts.copy(store, tmp_path)
        shown = " ".join(koala.ok("status").out.split())
        assert "worker does not stay up: 3 times in a row" in shown
        assert "exit 66: KOALA_SLOTS is wrong" in shown
        assert "put right the setting or secret that the reason names" in shown
        found = koala.ok("status", "--json").data["starts"]["worker"]
        assert (found["starts"], found["failures"], found["row"], found["exit"]) == (3, 3, 3, 66)
        assert found["failing"][0]["image"] == "1.2"

    def test_one_that_was_not_tried_for_long_is_told_apart_and_one_that_is_gone_is_left_out(
        self, koala: Cli, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        life(tmp_path)
        starts.copy(store, tmp_path)
        assert "does not stay up" in koala.ok("status", "--there", f"another,{gethostname()}").out
        assert "stay up" not in koala.ok("status", "--there", "another").out
        assert koala.ok("status", "--json", "--there", "another").data["starts"]["worker"]["failing"] == []
        monkeypatch.setattr("koala.starts.tally.LATELY_MS", 0)
        shown = " ".join(koala.ok("status").out.split())
        assert "worker did not stay up, and was not started again: once on" in shown
        assert f"unless {gethostname()} is gone" in shown

    def test_what_comes_up_is_not_shown(self, koala: Cli, store: Store, tmp_path: Path) -> None:
        life(tmp_path)
        start = Start("worker", tmp_path, "1.2")
        start.begin()
        start.ready()
        starts.copy(store, tmp_path)
        assert "does not stay up" not in koala.ok("status").out
        assert koala.ok("status", "--json").data["starts"]["worker"]["failing"] == []

    def test_a_reason_can_change_nothing_in_a_terminal(self, koala: Cli, store: Store, tmp_path: Path) -> None:
        life(tmp_path, reason="\x1b[2Jcleared [bold]loud[/bold]")
        starts.copy(store, tmp_path)
        shown = koala.ok("status").out
        assert "\x1b" not in shown
        assert "[bold]loud[/bold]" in shown


def test_the_record_is_one_field_a_program(store: Store, tmp_path: Path) -> None:
    life(tmp_path)
    starts.copy(store, tmp_path)
    assert list(store.hash(keys.STARTS)) == ["worker"]
