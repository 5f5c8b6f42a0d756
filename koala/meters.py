"""Metrics at work: those that a process counts itself, those that are read when asked, and the page of both.

Labels are closed: a value that is not on its list becomes `other`, where the list has that, and is refused otherwise.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version

import prometheus_client
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.registry import Collector

from koala.counts import OTHER
from koala.errors import KoalaError
from koala.logs import log
from koala.metrics import Kind, Metric

Given = Mapping[str, Collection[str]]
"""The values of the labels that a program's start closes."""
Values = dict[Metric, dict[tuple[str, ...], float]]
"""What was read, by the metric's labels in their order; () for a metric without."""


class NoSuchMetric(KoalaError):
    """A metric, a label or a value of it is not declared in koala/metrics.py."""

    code = "no_such_metric"


def closed(metric: Metric, given: Given) -> dict[str, tuple[str, ...]]:
    """The values of each label. Of a GIVEN one what is `given`, and `other` for workflows."""
    return {name: values or _given(name, given) for name, values in metric.labels.items()}


def _given(name: str, given: Given) -> tuple[str, ...]:
    return (*sorted({*given[name]} - {OTHER}), *([OTHER] if name == "workflow" else []))


class Meters:
    """What one process counts and notes itself. Safe from several threads."""

    def __init__(self, registry: CollectorRegistry, metrics: Iterable[Metric], given: Given) -> None:
        prometheus_client.disable_created_metrics()  # type: ignore[no-untyped-call]
        self._made: dict[str, Counter | Gauge | Histogram] = {}
        self._labels: dict[str, dict[str, tuple[str, ...]]] = {}
        for metric in metrics:
            self._labels[metric.name] = labels = closed(metric, given)
            made = _make(metric, registry)
            self._made[metric.name] = made
            for combination in itertools.product(*labels.values()) if labels else ():
                made.labels(*combination)

    def count(self, metric: Metric | str, amount: float = 1, **labels: str) -> None:
        """Add to a counter. Raises NoSuchMetric."""
        counter = self._at(metric, labels)
        if not isinstance(counter, Counter) or amount < 0:
            raise NoSuchMetric(f"{metric} cannot be counted up by {amount:g}")
        counter.inc(amount)

    def observe(self, metric: Metric | str, seconds: float, **labels: str) -> None:
        """Note a duration in a histogram. Raises NoSuchMetric."""
        histogram = self._at(metric, labels)
        if not isinstance(histogram, Histogram):
            raise NoSuchMetric(f"{metric} is no histogram")
        histogram.observe(seconds)

    def set(self, metric: Metric | str, value: float, **labels: str) -> None:
        """Set a gauge. Raises NoSuchMetric."""
        gauge = self._at(metric, labels)
        if not isinstance(gauge, Gauge):
            raise NoSuchMetric(f"{metric} is no gauge")
        gauge.set(value)

    def _at(self, metric: Metric | str, labels: Mapping[str, str]) -> Counter | Gauge | Histogram:
        name = metric if isinstance(metric, str) else metric.name
        known = self._labels.get(name)
        if known is None or known.keys() != labels.keys():
            raise NoSuchMetric(f"there is no metric {name} with the labels {sorted(labels)}")
        if not known:
            return self._made[name]
        return self._made[name].labels(*(_value(name, label, labels[label], known[label]) for label in known))


def _value(name: str, label: str, value: str, known: tuple[str, ...]) -> str:
    if value in known:
        return value
    if OTHER in known:
        return OTHER
    raise NoSuchMetric(f"{label}={value!r} is not on the list of {name}")


def _make(metric: Metric, registry: CollectorRegistry) -> Counter | Gauge | Histogram:
    names = tuple(metric.labels)
    if metric.kind is Kind.HISTOGRAM:
        return Histogram(metric.name, metric.help, names, buckets=metric.buckets, registry=registry)
    return (Counter if metric.kind is Kind.COUNTER else Gauge)(metric.name, metric.help, names, registry=registry)


@dataclass(frozen=True)
class Look:
    """What was seen at one look: values, and the lists that close its GIVEN labels."""

    values: Values
    given: Given = field(default_factory=dict)


class Read(Collector):
    """Metrics whose values are looked up when they are asked for; none of them is shown while `look` gives None."""

    def __init__(self, metrics: Collection[Metric], look: Callable[[], Look | None]) -> None:
        self._metrics = metrics
        self._look = look

    def collect(self) -> Iterator[Family]:
        """All of them, every combination of labels."""
        seen = self._look()
        if seen:
            yield from (_family(metric, seen) for metric in self._metrics)


def _family(metric: Metric, seen: Look) -> Family:
    values = seen.values.get(metric, {})
    kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
    family = kind(metric.name, metric.help, labels=tuple(metric.labels))
    for combination in itertools.product(*closed(metric, seen.given).values()):
        family.add_metric(combination, values.get(combination, 0.0))
    return family


def build_labels(program: str, image: str) -> dict[str, str]:
    """The labels of `koala_build_info`, in their order."""
    try:
        installed = version("koala-agents")
    except PackageNotFoundError:  # a checkout that was not installed
        installed = "unknown"
    return {"program": program, "version": installed, "image": image}


def registry() -> CollectorRegistry:
    """A registry that has the process's own memory, time and files already."""
    made = CollectorRegistry()
    ProcessCollector(registry=made)
    return made


def serve(shown: CollectorRegistry, host: str, port: int) -> bool:
    """Answer `/metrics` from a thread, until the process ends. False, with a line in the log, when that cannot be."""
    try:
        prometheus_client.start_http_server(port, host, shown)
    except OSError as error:
        log().error("metrics_off", address=f"{host}:{port}", error=str(error))
        return False
    log().info("metrics_on", address=f"{host}:{port}")
    return True
