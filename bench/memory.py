"""`python -m bench.memory`: what a worker and each of its slots hold, at rest and at work in profiles' own browsers.

The most that was seen over a round of orders, of each slot at the same time: PSS (shared pages divided among those who
share them) and, of the processes' own memory alone, USS. The defaults of KOALA_WORKER_BYTES and KOALA_SLOT_BYTES are
these figures, with room for pages that are heavier than the demo shop's.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from koala import tasks
from tests.support.live_pool import LivePool
from tests.support.program import Program
from worker.processes import Process, find, tree

SLOTS = (1, 2)
ORDERS = 3
"""Orders of each slot, one after the other, in its own profile."""
FIELDS = {"Pss": "pss", "Private_Clean": "uss", "Private_Dirty": "uss"}
MEBI_KB = 1024


@dataclass
class Held:
    """The most that was seen, in MiB."""

    pss: int = 0
    uss: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    """PSS by kind of process, at that moment."""

    def see(self, other: Held) -> None:
        """Keep what is more."""
        if other.pss > self.pss:
            self.pss, self.uss, self.parts = other.pss, other.uss, other.parts


def now(worker: Program) -> Held:
    """What the worker and all below it hold at this moment."""
    held, root = Held(), find(worker.pid)
    for process in tree(root) if root else []:
        numbers = _memory(process)
        held.pss += numbers["pss"]
        held.uss += numbers["uss"]
        kind = _kind(process, worker)
        held.parts[kind] = held.parts.get(kind, 0) + numbers["pss"]
    return Held(held.pss // MEBI_KB, held.uss // MEBI_KB, {name: kb // MEBI_KB for name, kb in held.parts.items()})


def _memory(process: Process) -> dict[str, int]:
    found = {"pss": 0, "uss": 0}
    try:
        lines = Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        name, _, rest = line.partition(":")
        if name in FIELDS:
            found[FIELDS[name]] += int(rest.split()[0])
    return found


def _kind(process: Process, worker: Program) -> str:
    if process.pid == worker.pid:
        return "worker"
    try:
        line = Path(f"/proc/{process.pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return "gone"
    kinds = {"worker slot": "slot", "worker.host": "child", "run-driver": "driver", "chrom": "browser"}
    return next((kind for part, kind in kinds.items() if part in line), "other")


def _round(pool: LivePool, worker: Program, slots: int) -> Held:
    """Each slot at work at the same time."""
    held = Held()
    ids = [
        pool.order(f"{slots}-{slot}-{number}", workflow="shop.order", profile=f"profile-{slot}")
        for slot in range(slots)
        for number in range(ORDERS)
    ]

    def all_ended() -> bool:
        held.see(now(worker))
        return all(task.ended for task in tasks.many(pool.store, ids))

    pool.until(all_ended, "all orders", 300)
    return held


def _measure(slots: int) -> tuple[Held, Held]:
    with LivePool() as pool:
        worker = pool.start(slots)
        rest = now(worker)
        return rest, _round(pool, worker, slots)


def main() -> None:
    """Measure and print."""
    for slots in SLOTS:
        rest, work = _measure(slots)
        for name, held in (("at rest", rest), ("at work", work)):
            parts = ", ".join(f"{kind} {mebi}" for kind, mebi in sorted(held.parts.items()))
            sys.stdout.write(f"{slots} slots {name}: {held.pss} MiB PSS, {held.uss} MiB USS ({parts})\n")


if __name__ == "__main__":
    main()
