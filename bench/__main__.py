"""`make bench`: the pool and a bare script do the same work in turn, in one run; what counts is the ratio.

One worker of one slot, so that both do one thing after the other. Three rounds; medians. Also in build/bench.json.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from koala import tasks
from tests.support.live_pool import LivePool
from worker.processes import find, memory_megabytes, tree

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
NUMBERS = {"pages": 20, "orders": 60, "profiles": 6}
WHAT = {
    "pages": "a page in a fresh context, without a profile",
    "orders": "a price and an order over HTTP (one step, one effect)",
    "profiles": "an order in a profile's own browser",
}


class Bench:
    """One pool, and what it is measured against."""

    def __init__(self, pool: LivePool) -> None:
        self._pool = pool
        self._worker = pool.start(1)
        self._round = 0

    def bare(self, what: str) -> dict[str, float]:
        """The bare script, once."""
        with tempfile.TemporaryDirectory() as directory:
            arguments = [what, self._pool.shop.url, str(NUMBERS[what]), directory]
            done = subprocess.run(
                [sys.executable, "-m", "bench.bare", *arguments], capture_output=True, check=True, cwd=ROOT
            )
        found: dict[str, float] = json.loads(done.stdout)
        return found

    def koala(self, what: str) -> dict[str, float]:
        """The pool, once: from the first task's submission to the last one's end, by the store's clock."""
        self._round += 1
        ids = [self._submit(what, item) for item in range(NUMBERS[what])]
        held = 0

        def all_ended() -> bool:
            nonlocal held
            root = find(self._worker.pid)
            held = max(held, memory_megabytes(tree(root))) if root else held
            return all(task.ended for task in tasks.many(self._pool.store, ids))

        self._pool.until(all_ended, what, 600)
        records = [self._pool.task(id_) for id_ in ids]
        assert all(record.status == "done" for record in records), [record.error for record in records]  # noqa: S101
        began, ended = min(one.created_ms for one in records), max(one.ended_ms for one in records)
        return {"seconds": (ended - began) / 1000, "megabytes": held}

    def _submit(self, what: str, item: int) -> str:
        shop, reference = self._pool.shop.url, f"koala-{what}-{self._round}-{item}"
        if what == "pages":
            return self._pool.submit("shop.news", {"shop": shop, "n": item + 1})
        if what == "orders":
            return self._pool.order(reference)
        return self._pool.order(reference, workflow="shop.order", profile="bench")


def _row(what: str, bare: list[dict[str, float]], koala: list[dict[str, float]]) -> dict[str, Any]:
    """Medians of one kind of work, and their ratios."""

    def median(rows: list[dict[str, float]], name: str) -> float:
        return statistics.median(row[name] for row in rows)

    number = NUMBERS[what]
    times = {"bare": median(bare, "seconds") / number, "koala": median(koala, "seconds") / number}
    memory = {"bare": median(bare, "megabytes"), "koala": median(koala, "megabytes")}
    return {
        "work": WHAT[what],
        "bare_ms": round(times["bare"] * 1000),
        "koala_ms": round(times["koala"] * 1000),
        "time_ratio": round(times["koala"] / times["bare"], 2),
        "bare_mb": round(memory["bare"]),
        "koala_mb": round(memory["koala"]),
        "memory_ratio": round(memory["koala"] / memory["bare"], 2),
    }


def main() -> None:
    """Measure, print, write."""
    rows = []
    with LivePool() as pool:
        bench = Bench(pool)
        for what in NUMBERS:
            pairs = [(bench.bare(what), bench.koala(what)) for _ in range(ROUNDS)]
            rows.append(_row(what, [bare for bare, _ in pairs], [koala for _, koala in pairs]))
    print(f"One slot, {os.cpu_count()} cores, medians of {ROUNDS} rounds; each item's time, and the most memory (PSS).")
    for row in rows:
        print(
            f"{row['work']}: bare {row['bare_ms']} ms, Koala {row['koala_ms']} ms (x{row['time_ratio']}); "
            f"{row['bare_mb']} MB, {row['koala_mb']} MB (x{row['memory_ratio']})"
        )
    (ROOT / "build").mkdir(exist_ok=True)
    (ROOT / "build" / "bench.json").write_text(json.dumps(rows, indent=2))


if __name__ == "__main__":
    main()
