"""A whole pool of real processes: a Redis and a shop of its own, workers, schedulers; everything ends with it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Self

from demo.shop.server import ShopProcess
from koala import slots
from koala.store import Store, open_store
from koala.workflow import load
from tests.support import access, program
from tests.support.data import data_volume
from tests.support.pool_view import LONG_S as LONG_S
from tests.support.pool_view import PoolView
from tests.support.program import Program
from tests.support.redis_server import RedisServer
from worker.processes import Process
from worker.volume import Volume

MODULES = "workflows tests.support.workflows tests.support.browsing tests.support.halves"
PACE = {
    "KOALA_LEASE_TTL_S": "3",
    "KOALA_TRUST_MARGIN_S": "0.5",
    "KOALA_HEARTBEAT_S": "0.5",
    "KOALA_TICK_S": "0.1",
    "KOALA_SWEEP_S": "0.3",
    "KOALA_BACKOFF_S": "0.2",
    "KOALA_OLD_HOLDER_WAIT_S": "0.5",
    "KOALA_OLD_HOLDER_WAIT_MOST_S": "0.5",
    "KOALA_HANDED_WAIT_S": "2",
}
"""Everything that waits, short."""
PATIENT = {"KOALA_LEASE_TTL_S": "15", "KOALA_TRUST_MARGIN_S": "2", "KOALA_HANDED_WAIT_S": "20"}
"""For a pool in which no lease runs out but by a fault of the test's machine: one that stalls costs no attempt."""


class LivePool(PoolView):
    """A context manager. `environment` are further KOALA_ variables for every program.

    `store` is the test's own client; it is safe to use from several threads.
    """

    def __init__(self, **environment: str) -> None:
        self._stack = ExitStack()
        self._given = environment
        self._programs: list[Program] = []
        self._frozen: list[Process] = []
        self.registry = load(MODULES.split())
        self.redis = RedisServer(access.users())
        self.home: Path
        self.volume: Volume
        self.shop: ShopProcess
        self.store: Store

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="koala pool ")))
            for folder in ("faults", "logs", "gates", "secrets"):
                (self.home / folder).mkdir()
            self.volume = stack.enter_context(data_volume())
            stack.callback(self.redis.close)
            self.redis.start()
            self.store = open_store(self.redis.socket_url)
            stack.callback(self.store.close)
            self.shop = stack.enter_context(ShopProcess(self.home / "shop"))
            stack.callback(self.end_programs)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def end_programs(self) -> None:
        """SIGKILL to every worker and scheduler, frozen or not, with all that they started."""
        program.thaw(self._frozen)
        for one in self._programs:
            one.end()

    @property
    def ttl_s(self) -> float:
        """The lease TTL of its workers."""
        return float(self.environment()["KOALA_LEASE_TTL_S"])

    def environment(self, **more: str) -> dict[str, str]:
        """What its programs are started with: nothing of ours that begins with KOALA_."""
        ours = {name: value for name, value in os.environ.items() if not name.startswith("KOALA_")}
        own = {
            "KOALA_REDIS_URL": self.redis.socket_url,
            "KOALA_DATA": str(self.volume.path),
            "KOALA_SECRETS_DIR": str(self.home / "secrets"),
            "KOALA_FAULTS_DIR": str(self.home / "faults"),
            "KOALA_WORKFLOWS": MODULES,
            "KOALA_BROWSER_SANDBOX": "0",
            "KOALA_LAUNCH_CHECK": "0",  # some seconds of each worker's start
        }
        return {**ours, **PACE, **own, **self._given, **more}

    # Programs

    def worker(self, slots_: int = 2, **more: str) -> Program:
        """Start a worker; it is on its way up, see `until_slots`."""
        return self._start("worker", {"KOALA_SLOTS": str(slots_), **more})

    def scheduler(self, **more: str) -> Program:
        """Start a scheduler."""
        return self._start("scheduler", more)

    def _start(self, module: str, more: Mapping[str, str]) -> Program:
        log = self.home / "logs" / f"{len(self._programs)}-{module}.log"
        # Each is the user of the store that it is in production: what its access list lacks fails the tests.
        started = Program(module, log, self.environment(**{**access.as_user(module), **more}))
        self._programs.append(started)
        return started

    def until_slots(self, number: int) -> None:
        """Until so many slots take work."""

        def there() -> bool:
            return len([slot for slot in slots.alive(self.store) if slot["accepting"] == "1"]) >= number

        self.until(there, f"{number} slots", LONG_S + 10 * number)  # each is three interpreters that start

    def start(self, slots_: int = 2) -> Program:
        """One scheduler and one worker, its slots ready for work."""
        self.scheduler()
        worker = self.worker(slots_)
        self.until_slots(slots_)
        return worker

    # Breaking

    def kill_child(self, id_: str) -> None:
        """SIGKILL to the child that runs the task."""
        program.kill(self.child_of(id_))

    def kill_parent(self, id_: str) -> None:
        """SIGKILL to the slot's parent that runs the task."""
        program.kill(self.parent_of(id_))

    def freeze(self, *pids: int) -> list[Process]:
        """SIGSTOP; whom, for `thaw`. Whoever is still frozen at the end is thawed and ended."""
        stopped = program.freeze(pids)
        self._frozen += stopped
        return stopped

    def thaw(self, frozen: list[Process]) -> None:
        """SIGCONT."""
        program.thaw(frozen)

    # Telling

    def logs(self) -> str:
        """The end of every program's output."""
        return "\n".join(f"--- {one.log.name} ({one.exit_code})\n{one.text[-1500:]}" for one in self._programs)

    def output(self) -> str:
        """All that the programs ever wrote."""
        return "".join(one.text for one in self._programs)

    def programs(self) -> Iterator[Program]:
        """All that were started."""
        return iter(self._programs)
