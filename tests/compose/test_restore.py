"""`make backup` and `make restore` on the real pool: V4 end to end, as the engine, the store and the shop tell it."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil
import pytest

from koala import keys, restore, why
from tests.support.compose_pool import ROOT, ComposePool
from tests.support.waiting import until


@dataclass
class Restoring:
    """`make restore` at work, to be killed from outside."""

    pool: ComposePool
    source: Path
    name: str
    _log: Path = field(init=False)

    def __post_init__(self) -> None:
        self._log = self.pool.home / f"{self.name}.log"
        command = [sys.executable, "-m", "deploy", "restore", str(self.source)]
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                command, cwd=ROOT, env=self.pool.environment, stdout=log, stderr=subprocess.STDOUT
            )

    def until_said(self, text: str) -> None:
        """Until it has said this. AssertionError with all that it said when it ends without."""
        until(lambda: text in self.said() or self.process.poll() is not None, f"{self.name} says {text!r}", 120)
        assert text in self.said(), self.said()

    def said(self) -> str:
        """All that it said."""
        return self._log.read_text()

    def stop_step(self) -> str:
        """Hold the container in which its present step is at work; its id."""
        ours = (f"label=com.docker.compose.project={self.pool.project}", "label=koala.restoring", "status=running")
        filters = [word for one in ours for word in ("--filter", one)]
        self.pool.until(lambda: self.pool.docker("ps", "--quiet", *filters), "a step is at work")
        step = self.pool.docker("ps", "--quiet", *filters)
        self.pool.docker("pause", step)
        return step

    def kill(self, *, alone: bool) -> None:
        """SIGKILL to the tool; not `alone`, to the docker commands that it has begun, too."""
        begun = psutil.Process(self.process.pid).children(recursive=True)
        for one in [self.process, *([] if alone else begun)]:
            one.kill()
        self.process.wait()


@pytest.fixture
def pool(images: str) -> Iterator[ComposePool]:
    """One of its own: the whole of it is put back."""
    with ComposePool(images) as made:
        made.up(1)
        yield made


def test_a_restored_pool_finds_what_was_done_after_the_backup(pool: ComposePool) -> None:
    """Promises 3 and 10: a backup is made while an order waits; the order is placed after it; all is put back.

    By a restore that is killed where it hurts: while the store is put back, which goes on behind its back; when the
    store is back and nothing is declared; when all is done and the pool is about to start.
    """
    pool.until_done(pool.submit("shop.login", {"shop": pool.shop.url, "user": "ann"}, profile="ann"))
    placed = pool.errand("test.browse", "placed", profile="ann", gates=["step"])
    pool.until_at("placed", "step")
    never = pool.errand("test.order", "never", gates=["step0"])
    pool.until_at("never", "step0")

    done = pool.tool("backup", str(pool.home / "backups"), KOALA_BACKUP_WAIT_S="2")
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

    first = Restoring(pool, made, "first")
    first.until_said("the store\n")
    step = first.stop_step()
    first.kill(alone=True)
    second = Restoring(pool, made, "second")
    second.until_said("waits for what it had begun with Docker")
    assert f"`make restore FROM={made}` goes on with it" in pool.tool("status", check=False).stdout
    pool.docker("unpause", step)

    second.until_said("the profiles\n")
    left = second.stop_step()
    second.kill(alone=False)
    refused = pool.tool("up", check=False)
    assert (refused.returncode, "not complete" in refused.stderr) == (4, True), refused.stderr
    pool.compose("up", "--detach", "--no-build", "scheduler", "worker")  # by hand, which nobody can refuse
    pool.open_doors()
    given = pool.store.client.get(keys.FENCE)
    pool.until(lambda: "store_went_back" in pool.logs(), "a worker sees that it must not start")
    assert why.look(pool.store).hold_ms > why.RESTORING_MS, "nor would one get a lease that has seen nothing yet"
    assert pool.store.client.get(keys.FENCE) == given

    last = Restoring(pool, made, "last")
    last.until_said("starts the pool")
    last.kill(alone=False)
    pool.tool("up")
    assert left not in pool.docker("ps", "--all", "--quiet").split(), "it would put older profiles under their users"
    pool.open_doors()
    declared = restore.last(pool.store)
    assert declared
    assert declared.complete
    pool.until_done(placed, never)
    assert (pool.orders("placed"), pool.shop.state()["arrivals"]["placed"]) == (1, 1)
    assert pool.events(placed, "effect_happened")[-1].data["how"] == "confirm"
    assert not pool.events(placed, "effect_sent")
    assert not any("login is gone" in str(event.data) for event in pool.events(placed))
    assert pool.orders("never") == 1
    assert not pool.store.client.exists(f"koala:task:{kept}"), "what was accepted after the backup is lost"
