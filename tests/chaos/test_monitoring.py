"""A real Prometheus over a real pool: every query answers, and a store that is away is one alert and no other.

What workers that come, go, are killed or cannot start look like is seen in `tests/compose/test_prometheus.py`.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import pytest

from monitoring.dashboard import koala
from tests.support.ports import free_ports
from tests.support.prometheus import Prometheus
from tests.support.watched_pool import WatchedPool

pytestmark = [pytest.mark.prometheus, pytest.mark.timeout(180)]

FACTOR = 0.03
"""Ten minutes become eighteen seconds: shorter, and a busy machine is slower than the alerts are patient."""

EMPTY = {
    "koala:crash_loop": "no program fails to start",
    "koala:stuck": "nothing is stuck",
    **dict.fromkeys(
        (
            *("store away", "no scheduler", "crash loop", "held on purpose", "stuck", "no worker", "overload"),
            *("starved", "failing"),
        ),
        "all is well",
    ),
    "What asks for a person?/A": "no alert fires",
    "Why do tasks wait?/A": "nothing waits: every task has ended",
    "Why do tasks wait?/B": "nothing waits",
    "How long has the oldest one waited, by reason?/A": "nothing waits",
    "What becomes of planned runs?/A": "there is no schedule",
    "Does a program start again and again?/B": "no program ended badly",
    "Does a program start again and again?/C": "no program fails to start",
}
"""The queries that have nothing to show on a pool at work, and why; alerts besides."""


@pytest.fixture(scope="module")
def watched() -> Iterator[WatchedPool]:
    with WatchedPool(FACTOR) as watched:
        yield watched


@pytest.fixture
def since(watched: WatchedPool) -> float:
    """When the test began, on a pool that was well and silent."""
    watched.calm()
    return time.time()


@pytest.fixture
def patient(watched: WatchedPool) -> Iterator[Prometheus]:
    """Another Prometheus over the same pool, for which ten minutes are one: what is done stays recent for a while."""
    with Prometheus(0.1, *free_ports(1)) as prometheus:
        watched.tell(prometheus, "worker", "scheduler")
        watched.pool.until(lambda: prometheus.value("koala:workers") == 2, "it sees the workers")
        yield prometheus


def test_every_query_of_rules_and_dashboard_answers_on_a_pool_at_work(
    watched: WatchedPool, since: float, patient: Prometheus
) -> None:
    """None is refused, each has data, and the few that have none are known."""
    pool = watched.pool
    pool.until_done(*[pool.order(f"asked-{number}") for number in range(4)])
    pool.until_status(pool.errand("test.raises", "asked-raises", where="step", times=2), "failed")
    crashed = pool.errand("test.order", "asked-crash", gates=["step0"])
    pool.until_at("asked-crash", "step0")
    pool.kill_child(crashed)
    pool.open_gate("asked-crash", "step0")
    pool.until_done(crashed)
    pool.until(lambda: patient.value("koala:tasks_finished_lately") == 6, "it has seen them all")

    assert [program.log.name for program in watched.programs if not accepted(watched.scrape(program))] == []
    rules = patient.rules()
    assert [(rule["name"], rule["lastError"]) for rule in rules if rule["health"] != "ok"] == []
    records = [rule for rule in rules if rule["type"] == "recording"]
    asked = {rule.get("labels", {}).get("state") or rule["name"]: rule["query"] for rule in records} | panels()

    def empty() -> set[str]:
        return {name for name, expr in asked.items() if not patient.query(patient.scaled(expr))}

    pool.until(lambda: empty() == set(EMPTY), f"all others have data; these differ: {empty() ^ set(EMPTY)}")
    assert patient.fired(since) | watched.prometheus.fired(since) == set()


def panels() -> dict[str, str]:
    """The queries of the dashboard, by panel and letter."""
    return {
        f"{panel['title']}/{target['refId']}": target["expr"]
        for panel in koala()["panels"]
        for target in panel["targets"]
    }


def accepted(text: str) -> bool:
    """Whether Prometheus' own checker has nothing against the names and types of what a program shows."""
    return subprocess.run(["promtool", "check", "metrics"], input=text, text=True).returncode == 0


def test_a_store_that_is_away_is_one_alert(watched: WatchedPool, since: float) -> None:
    watched.pool.redis.kill()
    try:
        watched.pool.until(lambda: watched.prometheus.firing() == {"KoalaStoreAway"}, "the store is told to be away")
        assert watched.prometheus.state() == "store away"
    finally:
        watched.pool.redis.start()
    watched.calm()
    assert watched.prometheus.fired(since) == {"KoalaStoreAway"}
