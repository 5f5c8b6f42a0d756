"""The store of a live pool, backed up and put back as the deploy tool does it, without Docker."""

from __future__ import annotations

import hashlib
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala.store import Store, open_store
from tests.support.command import Command, Said
from tests.support.live_pool import LivePool
from tests.support.program import ROOT
from worker.commands.backup import snapshot

PUT_BACK = ROOT / "deploy" / "putback.sh"


def put_back(data: Path, rdb: Path, id_: str = "one") -> subprocess.CompletedProcess[str]:
    """Put a snapshot into Redis's directory, on which nothing runs."""
    digest = hashlib.sha256(rdb.read_bytes()).hexdigest()
    with rdb.open("rb") as file:
        return subprocess.run(
            ["sh", PUT_BACK, data, id_, digest], stdin=file, capture_output=True, text=True, timeout=60, check=False
        )


class Kept:
    """All keys of a store at one instant, in this process: a backup that costs nothing."""

    def __init__(self, store: Store) -> None:
        self._store = store
        raw: Any = store.client
        self._values = [(key, raw.execute_command("DUMP", key, NEVER_DECODE=True)) for key in raw.keys("*")]

    def put_back(self) -> None:
        """In the place of whatever is there."""
        self._store.client.flushdb()
        for key, value in self._values:
            self._store.client.restore(key, 0, value)


@dataclass
class StoreBackup:
    """One snapshot of a pool's store."""

    pool: LivePool
    rdb: Path

    @classmethod
    def of(cls, pool: LivePool) -> StoreBackup:
        """Taken now, while the pool runs."""
        kept = pool.home / "store.rdb"
        kept.write_bytes(Path(snapshot.save(pool.store, 30)["file"]).read_bytes())
        return cls(pool, kept)

    def put_back(self) -> None:
        """In the place of the store, which runs again afterwards. Nothing is said about it to anybody."""
        self.pool.redis.kill()
        done = put_back(self.pool.redis.home, self.rdb)
        assert done.returncode == 0, done.stderr
        self.pool.redis.start()
        self.pool.store.close()
        self.pool.store = open_store(self.pool.redis.socket_url)

    def declare(self, *more: str) -> Said:
        """Say it."""
        environment = {name: text for name, text in self.pool.environment().items() if name.startswith("KOALA_")}
        return Command(environment)("restore", "declare", "--because=a test", *more)
