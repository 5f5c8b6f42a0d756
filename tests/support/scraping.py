"""Asking for `/metrics` as Prometheus does, and reading what it says."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

CLASSIC = "text/plain;version=0.0.4;q=0.5,*/*;q=0.1"
OPENMETRICS = "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5"


@dataclass(frozen=True)
class Page:
    """One scrape."""

    content_type: str
    text: str

    @property
    def samples(self) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
        """Every sample, by name and labels."""
        families = text_string_to_metric_families(self.text)
        found = (sample for family in families for sample in family.samples)
        return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in found}

    def value(self, name: str, **labels: str) -> float | None:
        """One sample; None when it is not there."""
        return self.samples.get((name, frozenset(labels.items())))

    def total(self, name: str, **labels: str) -> float:
        """The sum over the samples of a name with at least these labels; 0 for none."""
        wanted = labels.items()
        return sum(value for (of, had), value in self.samples.items() if of == name and wanted <= dict(had).items())


def scrape(port: int, *, openmetrics: bool = False) -> Page:
    """Ask once. Raises OSError while nobody answers."""
    accept = OPENMETRICS if openmetrics else CLASSIC
    request = urllib.request.Request(f"http://127.0.0.1:{port}/metrics", headers={"Accept": accept})
    with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - the loopback address
        return Page(answer.headers["Content-Type"], answer.read().decode())


def answers(port: int) -> bool:
    """Whether somebody answers there."""
    try:
        scrape(port)
    except OSError:
        return False
    return True
