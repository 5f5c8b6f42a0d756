"""`make backup` and `make restore` on the real pool: V4 end to end, as the engine, the store and the shop tell it."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from koala import restore
from tests.support.compose_pool import ROOT, ComposePool


@pytest.fixture
def pool(images: str) -> Iterator[ComposePool]:
    """One of its own: the whole of it is put back."""
    with ComposePool(images) as made:
        made.up(1)
        yield made


def test_a_restored_pool_finds_what_was_done_after_the_backup(pool: ComposePool) -> None:
    """Promises 3 and 10: a backup is made while an order waits; the order is placed after it; all is put back."""
    pool.until_done(pool.submit("shop.login", {"shop": pool.shop.url, "user": "ann"}, profile="ann"))
    placed = pool.errand("test.browse", "placed", profile="ann", gates=["step"])
    pool.until_at("placed", "step")
    never = pool.errand("test.order", "never", gates=["step0"])
    pool.until_at("never", "step0")

    done = pool.tool("backup", str(pool.home / "backups"))
    made = Path(done.stdout.strip())
    manifest = json.loads((made / "manifest.json").read_text())
    assert [(one["name"], one["state"]) for one in manifest["profiles"]["each"]] == [("ann", "snapshot")]
    assert "old, because it is in use" in done.stderr
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in made.iterdir()} == {0o600}
    secrets = [value.encode() for value in pool.passwords()]
    assert not any(value in path.read_bytes() for value in secrets for path in made.iterdir())

    pool.open_gate("placed", "step")
    pool.until_done(placed)
    assert pool.orders("placed") == 1
    pool.open_gate("never", "step0", "act")
    kept = pool.submit("test.order", {"shop": pool.shop.url, "reference": "lost", "folder": str(pool.home)})
    pool.until_done(kept)

    note = ROOT / ".koala" / f"{pool.project}.restore"
    note.write_text(json.dumps({"id": "begun", "source": str(made)}))  # as one that was killed leaves it
    refused = pool.tool("up", check=False)
    assert (refused.returncode, "not complete" in refused.stderr) == (4, True), refused.stderr
    said = pool.tool("restore", str(made))
    assert "restored as of" in said.stdout
    assert "kept/begun" in said.stdout
    assert not note.exists()
    pool.open_doors()
    last = restore.last(pool.store)
    assert last
    assert last.complete
    pool.until_done(placed, never)
    assert (pool.orders("placed"), pool.shop.state()["arrivals"]["placed"]) == (1, 1)
    assert pool.events(placed, "effect_happened")[-1].data["how"] == "confirm"
    assert not pool.events(placed, "effect_sent")
    assert not any("login is gone" in str(event.data) for event in pool.events(placed))
    assert pool.orders("never") == 1
    assert not pool.store.client.exists(f"koala:task:{kept}"), "what was accepted after the backup is lost"
