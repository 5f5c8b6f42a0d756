"""Prometheus beside the pool, finding replicas by name as they come and go: no ghosts, the right alarm, no other."""

from __future__ import annotations

import time

import pytest

from tests.support.compose_pool import ComposePool
from tests.support.prometheus_view import PrometheusView

QUIET = ("fine", "idle")


@pytest.fixture(scope="module")
def watched(shared: ComposePool) -> ComposePool:
    """The one that is left as it was found."""
    return shared


@pytest.fixture(scope="module")
def view(watched: ComposePool) -> PrometheusView:
    return watched.prometheus


@pytest.fixture
def since(watched: ComposePool, view: PrometheusView) -> float:
    """When the test began, on a pool that was well and silent."""
    watched.until(lambda: view.state() in QUIET and not view.firing(), "calm", 120)
    return time.time()


def sees(pool: ComposePool, view: PrometheusView, workers: int) -> None:
    """Until the store's number and the scraped replicas are both so many."""

    def both() -> bool:
        return view.value("koala:workers") == workers and len(view.query('up{job="worker"} == 1')) == workers

    pool.until(both, f"{workers} workers in Prometheus", 120)


def test_a_killed_worker_that_does_not_come_back_is_missed(
    watched: ComposePool, view: PrometheusView, since: float
) -> None:
    """First of all: beside workers that were let go a moment ago one that vanished is not seen."""
    sees(watched, view, 2)
    victim = watched.containers()[0]
    watched.docker("kill", victim)  # which the engine does not take for a crash
    watched.until(lambda: view.firing() == {"KoalaProgramDown"}, "it is missed", 120)
    watched.docker("start", victim)
    sees(watched, view, 2)
    watched.until(lambda: not view.firing(), "it is back", 120)
    assert view.fired(since) == {"KoalaProgramDown"}


def test_a_bad_secret_is_a_crash_loop_that_ends_and_says_why(
    watched: ComposePool, view: PrometheusView, since: float
) -> None:
    """The programs die before they show a single number; their starts were counted all the same."""
    secret = watched.home / "secrets" / "worker" / "redis_password"
    secret.chmod(0o444)
    watched.compose("restart", "--timeout", "30", "worker")
    watched.until(lambda: "KoalaCrashLoop" in view.firing(), "the loop is told", 120)
    assert view.state() == "crash loop"
    assert "is readable by everyone: chmod 0400 it" in " ".join(watched.koala("status").split())
    secret.chmod(0o400)
    watched.compose("restart", "--timeout", "30", "worker")
    watched.until_slots(4)
    watched.until(lambda: not view.firing(), "it has ended", 180)
    assert view.fired(since) <= {"KoalaCrashLoop", "KoalaProgramDown"}


def test_scaled_to_four_to_none_and_back_it_has_no_ghosts_and_raises_nothing(
    watched: ComposePool, view: PrometheusView, since: float
) -> None:
    sees(watched, view, 2)
    watched.tool("scale", "4")
    sees(watched, view, 4)
    watched.tool("scale", "0")
    watched.until(lambda: view.value("koala:workers") == 0, "no worker")
    watched.until(lambda: not view.query('{job="worker", __name__=~"up|koala_worker_.*"}'), "no ghost of one", 120)
    assert view.state() in QUIET
    watched.tool("scale", "2")
    sees(watched, view, 2)
    watched.until_done(watched.order("prometheus-back"))
    watched.until(lambda: view.state() in QUIET, "calm")
    assert view.fired(since) == set()
