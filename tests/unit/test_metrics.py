"""Metrics: declared once, with closed labels, all there from the start, and described."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

from koala import keys, metrics, reference
from koala.meters import Look, Meters, NoSuchMetric, Read, registry, serve
from koala.metrics import Kind, Metric, Of
from koala.settings import Settings
from koala.why import Reason
from scheduler.limited import Limited
from tests.support.ports import free_ports
from tests.support.scraping import scrape
from worker import cgroup
from worker.metrics import WorkerMetrics
from worker.report import Metric as Told
from worker.volume import Volume

ROOT = Path(__file__).resolve().parents[2]
EVERY = list(metrics.every())


class TestDeclarations:
    def test_names_say_what_they_are(self) -> None:
        """Prometheus's own words: a counter ends in _total, nothing else does, and units are base units."""
        for metric in EVERY:
            assert metric.name.startswith("koala_")
            assert metric.name.endswith("_total") == (metric.kind is Kind.COUNTER), metric.name
            assert not metric.name.endswith(("_count", "_sum", "_bucket", "_created", "_ms")), metric.name
            assert bool(metric.buckets) == (metric.kind is Kind.HISTOGRAM)

    def test_no_name_is_used_twice(self) -> None:
        assert len({metric.name for metric in EVERY}) == len(EVERY)

    def test_only_what_a_start_closes_has_an_open_list(self) -> None:
        """A label that a client chooses would grow without end."""
        given = {name for metric in EVERY for name, values in metric.labels.items() if not values}
        assert given == {"workflow", "slot", "duty", "program", "version", "image"}

    def test_why_a_task_waits_is_the_one_closed_list(self) -> None:
        assert set(metrics.WAITING.labels["reason"]) == {*map(str, Reason)} - {str(Reason.NOTHING)}
        assert metrics.TASKS.labels["status"] == keys.STATUSES

    def test_every_metric_is_on_the_page(self) -> None:
        page = (ROOT / "docs" / "metrics.md").read_text("utf-8")
        assert page == reference.metrics_page(), "run `python -m koala.reference metrics > docs/metrics.md`"
        assert [metric.name for metric in EVERY if f"| `{metric.name}` |" not in page] == []


COUNTED = Metric("koala_tests_total", Kind.COUNTER, Of.WORKER, "A test.", {"workflow": (), "result": ("ok", "failed")})
LASTED = Metric("koala_test_seconds", Kind.HISTOGRAM, Of.WORKER, "A test.", {"workflow": ()}, (1, 2))


def samples(shown: prometheus_client.CollectorRegistry) -> dict[tuple[str, ...], float]:
    """All samples of ours: name and label values, sorted by label."""
    text = prometheus_client.generate_latest(shown).decode()
    found = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for sample in found
        if sample.name.startswith("koala_")
    }


class TestCounted:
    def make(self) -> tuple[prometheus_client.CollectorRegistry, Meters]:
        shown = registry()
        return shown, Meters(shown, [COUNTED, LASTED], {"workflow": ["shop"]})

    def test_every_combination_is_there_at_zero(self) -> None:
        """`increase()` does not see the first event of a series that begins with it."""
        shown, _ = self.make()
        found = samples(shown)
        wanted = {("koala_tests_total", result, name) for result in ("ok", "failed") for name in ("shop", "other")}
        assert {key: value for key, value in found.items() if key[0] == "koala_tests_total"} == dict.fromkeys(wanted, 0)
        assert found["koala_test_seconds_count", "shop"] == 0
        assert not [key for key in found if key[0].endswith("_created")]

    def test_a_workflow_that_is_not_known_is_other(self) -> None:
        shown, meters = self.make()
        meters.count(COUNTED, workflow="a name out of a request", result="ok")
        meters.observe(LASTED.name, 1.5, workflow="unknown")
        assert samples(shown)["koala_tests_total", "ok", "other"] == 1
        assert samples(shown)["koala_test_seconds_bucket", "2.0", "other"] == 1

    @pytest.mark.parametrize(
        ("name", "labels", "amount"),
        [
            ("koala_tests_total", {"workflow": "shop", "result": "odd"}, 1),
            ("koala_tests_total", {"workflow": "shop"}, 1),
            ("koala_tests_total", {"workflow": "shop", "result": "ok", "more": "x"}, 1),
            ("koala_tests_total", {"workflow": "shop", "result": "ok"}, -1),
            ("koala_test_seconds", {"workflow": "shop"}, 1),
            ("koala_elsewhere_total", {}, 1),
        ],
    )
    def test_what_is_not_declared_is_refused(self, name: str, labels: dict[str, str], amount: float) -> None:
        shown, meters = self.make()
        before = samples(shown)
        with pytest.raises(NoSuchMetric):
            meters.count(name, amount, **labels)
        assert samples(shown) == before


class TestRead:
    def test_what_was_not_seen_is_zero_and_what_is_not_on_the_list_is_not_shown(self) -> None:
        shown = registry()
        values = {COUNTED: {("shop", "ok"): 3.0, ("gone", "ok"): 5.0}}
        shown.register(Read([COUNTED], lambda: Look(values, {"workflow": ["shop"]})))
        found = samples(shown)
        assert found["koala_tests_total", "ok", "shop"] == 3
        assert found["koala_tests_total", "failed", "shop"] == 0
        assert len(found) == 4

    def test_nothing_is_shown_while_nothing_is_seen(self) -> None:
        """A standby shows no zeros: they would be taken for the pool's."""
        shown = registry()
        shown.register(Read([COUNTED], lambda: None))
        assert samples(shown) == {}


class TestWorker:
    def make(self, volume: Volume, **settings: object) -> WorkerMetrics:
        config = Settings(browser_sandbox=False, slots=2, image="tag", **settings)  # type: ignore[arg-type]
        return WorkerMetrics(config, volume, ["shop"], lambda: {1: 2.5})

    @pytest.fixture
    def volume(self, tmp_path: Path) -> Volume:
        return Volume(tmp_path, "mark", "machine")

    def test_it_counts_what_its_slots_report(self, volume: Volume) -> None:
        worker = self.make(volume)
        labels = {"workflow": "shop", "outcome": "done"}
        worker.take(Told("observe", metrics.ATTEMPT_TIME.name, labels, 7.0))
        worker.take(Told("count", metrics.BROWSER_STARTED.name, {"result": "ok"}, 2))
        found = samples(worker.shown)
        assert found["koala_attempt_duration_seconds_count", "done", "shop"] == 1
        assert found["koala_attempt_duration_seconds_bucket", "10.0", "done", "shop"] == 1
        assert found["koala_browser_starts_total", "ok"] == 2

    @pytest.mark.parametrize(
        "told",
        [
            Told("count", "koala_nonsense_total", {}, 1),
            Told("count", metrics.BROWSER_STARTED.name, {"result": "a long text out of a page"}, 1),
            Told("observe", metrics.BROWSER_STARTED.name, {"result": "ok"}, 1),
            Told("count", metrics.BROWSER_STARTED.name, {"metric": "koala_zombies", "result": "ok"}, 1),
            Told("count", metrics.BROWSER_STARTED.name, {"result": "ok"}, -5),
        ],
    )
    def test_what_is_no_metric_is_counted_as_that(self, volume: Volume, told: Told) -> None:
        """A child runs code that is not ours: what comes up from it makes no series and ends no worker."""
        worker = self.make(volume)
        before = samples(worker.shown)
        worker.take(told)
        after = samples(worker.shown)
        assert after.keys() == before.keys()
        assert after["koala_reports_refused_total",] == 1
        assert after["koala_browser_starts_total", "ok"] == 0

    def test_it_shows_itself(self, volume: Volume) -> None:
        found = samples(self.make(volume).shown)
        assert found["koala_worker_slots",] == 2
        assert found["koala_browser_sandbox",] == 0
        assert found["koala_slot_last_beat_timestamp_seconds", "0"] == 0
        assert found["koala_slot_last_beat_timestamp_seconds", "1"] > 1.7e9
        assert found["koala_volume_size_bytes",] >= found["koala_volume_free_bytes",] > 0
        assert [key[1:3] for key in found if key[0] == "koala_build_info"] == [("tag", "worker")]

    def test_the_dead_below_it_that_nobody_reaped_are_counted(self, volume: Volume) -> None:
        worker = self.make(volume)
        before = samples(worker.shown)["koala_zombies",]
        dead = subprocess.Popen(["true"])
        os.waitid(os.P_PID, dead.pid, os.WEXITED | os.WNOWAIT)
        assert samples(worker.shown)["koala_zombies",] == before + 1
        dead.wait()
        assert samples(worker.shown)["koala_zombies",] == before

    def test_memory_is_read_from_both_versions_of_control_groups(self, tmp_path: Path) -> None:
        """What a container sees of itself."""
        new, old = tmp_path / "new", tmp_path / "old"
        self.write(new, {"memory.current": "900", "memory.stat": "anon 1\ninactive_file 100"}, "0::/")
        self.write(new, {"memory.events": "low 0\nhigh 0\nmax 7\noom 3\noom_kill 2"}, "0::/")
        more = {
            "memory.usage_in_bytes": "900",
            "memory.stat": "cache 1\ntotal_inactive_file 100",
            "memory.failcnt": "7",
        }
        self.write(old, {**more, "memory.oom_control": "under_oom 0\noom_kill 2"}, "4:memory:/docker/x", "memory")
        for root in (new, old):
            assert cgroup.memory_used(root) == 800
            assert cgroup.memory_full(root) == (7, 2)
        assert (cgroup.memory_used(tmp_path), cgroup.memory_full(tmp_path)) == (0, (0, 0))

    def write(self, root: Path, files: dict[str, str], group: str, below: str = "") -> None:
        folder = root / "sys/fs/cgroup" / below
        for path in (folder, root / "proc/self"):
            path.mkdir(parents=True, exist_ok=True)
        (root / "proc/self/cgroup").write_text(group)
        for name, text in files.items():
            (folder / name).write_text(text)


class TestLimited:
    def test_it_gives_up_after_its_time_and_lets_no_calls_pile_up(self) -> None:
        """A store that answers nothing must not hold Prometheus, nor collect threads."""
        calls: list[int] = []
        go_on = threading.Event()

        def hangs() -> int:
            calls.append(1)
            go_on.wait(30)
            return 1

        limited = Limited(hangs, 0.05)
        for _ in range(3):
            with pytest.raises(TimeoutError):
                limited()
        assert len(calls) == 1
        go_on.set()

    def test_it_raises_what_the_call_raises_and_can_be_called_again(self) -> None:
        answers = iter([ValueError("no"), 2])

        def call() -> int:
            answer = next(answers)
            if isinstance(answer, Exception):
                raise answer
            return answer

        limited = Limited(call, 5)
        with pytest.raises(ValueError, match="no"):
            limited()
        assert limited() == 2


class TestServed:
    def test_prometheus_gets_its_content_type_and_a_taken_port_stops_nothing(self) -> None:
        (port,) = free_ports(1)
        shown = registry()
        assert serve(shown, "127.0.0.1", port)
        assert scrape(port).content_type.startswith("text/plain; version=")
        assert scrape(port, openmetrics=True).content_type.startswith("application/openmetrics-text; version=1.0.0")
        assert "process_resident_memory_bytes" in scrape(port).text
        assert not serve(shown, "127.0.0.1", port)
