"""What real programs answer at /metrics, and what it says after some of them were killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from koala.metrics import Kind, Of, of
from tests.support.live_pool import LivePool
from tests.support.ports import free_ports
from tests.support.program import Program
from tests.support.scraping import Page, answers, scrape

PORT, IMAGE = "KOALA_METRICS_PORT", "KOALA_IMAGE"


class Watched:
    """A pool with a worker and two schedulers, each with a port of its own."""

    def __init__(self, pool: LivePool) -> None:
        self.pool = pool
        self.ports = free_ports(3)
        worker_port, *scheduler_ports = self.ports
        self.worker = pool.worker(2, **{PORT: str(worker_port), IMAGE: "tag-1"})
        self.schedulers = [pool.scheduler(KOALA_LEADER_TTL_S="2", **{PORT: str(port)}) for port in scheduler_ports]
        pool.until_slots(2)
        self.until(lambda: all(map(answers, self.ports)), "everyone answers")
        self.leading()

    def until(self, condition: Callable[[], object], what: str) -> None:
        self.pool.until(condition, what)

    def of_worker(self) -> Page:
        return scrape(self.ports[0])

    def leading(self) -> tuple[Program, Page]:
        """The one scheduler that leads, and its page; waited for, since one that stalls hands over for a moment."""
        found: list[tuple[Program, Page]] = []

        def one() -> bool:
            named = zip(self.schedulers, self.ports[1:], strict=True)
            pages = [(program, scrape(port)) for program, port in named if answers(port)]
            found[:] = [pair for pair in pages if pair[1].value("koala_scheduler_active") == 1]
            return len(found) == 1

        self.until(one, "one scheduler leads")
        return found[0]

    def pool_value(self, name: str, **labels: str) -> float | None:
        """A number of the pool, as the one who leads shows it."""
        return self.leading()[1].value(name, **labels)


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    """One for all tests here, in their order: the last ones kill it."""
    with LivePool(KOALA_LAUNCH_CHECK="0") as pool:
        yield Watched(pool)


def test_every_metric_is_there_from_the_start(watched: Watched) -> None:
    """Also to Prometheus 3, which refuses what has no proper content type."""
    worker, (_, active) = watched.of_worker(), watched.leading()
    assert worker.content_type.startswith("text/plain; version=")
    for page, whose in ((worker, Of.WORKER), (active, Of.SCHEDULER), (active, Of.POOL)):
        names = {name for name, _ in page.samples}
        ends = {Kind.HISTOGRAM: "_bucket"}
        assert [one.name for one in of(whose) if f"{one.name}{ends.get(one.kind, '')}" not in names] == []
    assert active.value("koala_attempts_total", workflow="test.order", outcome="lost") == 0
    assert active.value("koala_store_durable") == active.value("koala_store_up") == 1
    assert active.value("koala_workers") == 1
    assert worker.value("koala_worker_slots") == 2
    assert worker.total("koala_build_info", program="worker", image="tag-1") == 1


def test_work_is_counted_by_the_worker_and_for_the_pool(watched: Watched) -> None:
    pool = watched.pool
    id_ = pool.errand("test.browse", "seen", profile="seen", user="seen")
    pool.until_done(id_)
    done = {"workflow": "test.browse", "outcome": "done"}
    watched.until(lambda: watched.of_worker().value("koala_attempt_duration_seconds_count", **done) == 1, "its time")
    page = watched.of_worker()
    assert page.value("koala_step_duration_seconds_count", workflow="test.browse") == len(
        pool.events(id_, "step_started")
    )
    assert page.value("koala_browser_starts_total", result="ok") == 1
    assert page.value("koala_browser_closes_total", result="clean") == 1
    assert page.value("koala_reports_refused_total") == 0
    assert min(page.samples[key] for key in page.samples if key[0] == "koala_slot_last_beat_timestamp_seconds") > 1.7e9
    assert watched.pool_value("koala_attempts_total", **done) == 1
    assert watched.pool_value("koala_tasks_ended_total", workflow="test.browse", status="done") == 1
    assert watched.pool_value("koala_last_completion_timestamp_seconds") == pytest.approx(
        pool.task(id_).ended_ms / 1000, abs=0.01
    )


def test_a_child_and_a_slot_that_were_killed_are_counted_though_they_cannot_count(watched: Watched) -> None:
    pool = watched.pool
    for reference, kill in (("child", pool.kill_child), ("slot", pool.kill_parent)):
        id_ = pool.errand("test.order", reference, gates=["step0"])
        pool.until_at(reference, "step0")
        watched.until(lambda id_=id_: any(slot["task"] == id_ for slot in pool.slots()), "its slot's heartbeat")
        kill(id_)
        pool.open_gate(reference, "step0")
        pool.until_done(id_)
    watched.until(lambda: watched.of_worker().value("koala_browser_crashes_total", kind="child") == 1, "the child")
    assert watched.of_worker().value("koala_slot_deaths_total") == 1
    order = {"workflow": "test.order"}
    assert watched.pool_value("koala_crashes_total", kind="child") == 1
    assert watched.pool_value("koala_crashes_total", kind="worker") == 1
    assert watched.pool_value("koala_attempts_total", outcome="crashed", **order) == 1
    assert watched.pool_value("koala_attempts_total", outcome="lost", **order) == 1
    assert watched.pool_value("koala_attempts_total", outcome="done", **order) == 2


def test_a_standby_takes_the_pools_numbers_over_and_they_go_on(watched: Watched) -> None:
    """Counted in the store: nothing starts again at 0, and nothing is shown twice."""
    first, before = watched.leading()
    lost = {"workflow": "test.order", "outcome": "lost"}
    first.kill()
    assert watched.pool_value("koala_attempts_total", **lost) == before.value("koala_attempts_total", **lost) == 1


def test_a_worker_that_was_killed_leaves_no_ghost(watched: Watched) -> None:
    watched.worker.kill()
    watched.until(lambda: watched.pool_value("koala_workers") == 0, "it is not counted any more")
    assert watched.leading()[1].total("koala_slots") == 0
    assert not answers(watched.ports[0])
