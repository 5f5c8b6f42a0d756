"""Putting a snapshot in the place of a store's append-only files, with real servers on real files."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import keys, why
from koala.store import open_store
from tests.support.backup import PUT_BACK, put_back
from tests.support.redis_server import RedisServer
from worker.commands.backup import snapshot


@pytest.fixture
def server() -> Iterator[RedisServer]:
    with RedisServer() as made:
        yield made


def value(server: RedisServer) -> str | None:
    store = open_store(server.socket_url)
    try:
        found = store.client.get("koala:test")
        return None if found is None else str(found)
    finally:
        store.close()


def put(server: RedisServer, text: str) -> None:
    store = open_store(server.socket_url)
    store.client.set("koala:test", text)
    store.close()


@pytest.fixture
def rdb(server: RedisServer, tmp_path: Path) -> Path:
    """A snapshot of the value `then`; the store says `now`, and is stopped."""
    put(server, "then")
    store = open_store(server.socket_url)
    kept = tmp_path / "store.rdb"
    shutil.copy(snapshot.save(store, 30)["file"], kept)
    store.close()
    put(server, "now")
    server.kill()
    return kept


def test_the_store_is_as_it_was_and_what_was_there_is_kept(server: RedisServer, rdb: Path) -> None:
    done = put_back(server.home, rdb)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr
    server.start()
    assert value(server) == "then"
    store = open_store(server.socket_url)
    assert why.look(store).hold_ms > why.RESTORING_MS, "whoever starts now gets no lease before it is declared"
    store.close()
    put(server, "later")
    server.restart()
    assert value(server) == "later", "it is a durable store like any other"
    assert (server.home / "kept" / "one" / "appendonlydir").is_dir()
    assert not (server.home / "putting-back").exists()


def test_the_same_again_keeps_what_was_there_first(server: RedisServer, rdb: Path) -> None:
    """Also when it was killed between moving the one away and moving the other in."""
    assert put_back(server.home, rdb).returncode == 0
    shutil.rmtree(server.home / "appendonlydir")
    assert put_back(server.home, rdb).returncode == 0
    server.start()
    assert value(server) == "then"
    server.kill()
    shutil.rmtree(server.home / "appendonlydir")
    (server.home / "kept" / "one" / "appendonlydir").rename(server.home / "appendonlydir")
    server.start()
    assert value(server) == "now"


@pytest.mark.parametrize("fault", ["changed", "torn", "foreign"])
def test_what_is_no_good_snapshot_touches_nothing(server: RedisServer, rdb: Path, tmp_path: Path, fault: str) -> None:
    text, arguments = rdb.read_bytes(), [server.home, "one", hashlib.sha256(rdb.read_bytes()).hexdigest()]
    if fault == "torn":
        text = text[:-20]
        arguments[2] = hashlib.sha256(text).hexdigest()
    elif fault == "foreign":
        with RedisServer() as other:
            store = open_store(other.socket_url)
            store.client.delete(keys.EPOCH)
            text = Path(snapshot.save(store, 30)["file"]).read_bytes()
            store.close()
        arguments[2] = hashlib.sha256(text).hexdigest()
    else:
        text += b"x"
    done = subprocess.run(["sh", PUT_BACK, *arguments], input=text, capture_output=True, check=False, timeout=60)
    assert done.returncode != 0
    said = {"changed": b"did not arrive", "torn": b"does not load", "foreign": b"not of a Koala store"}[fault]
    assert said in done.stderr
    server.start()
    assert value(server) == "now"
