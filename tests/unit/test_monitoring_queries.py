"""Rules and panels ask for metrics and labels that exist, and every alert has its page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from koala import metrics
from monitoring.dashboard import koala

RULES = Path(__file__).resolve().parents[2] / "monitoring" / "prometheus" / "rules"
DOCS = Path(__file__).resolve().parents[2] / "docs"

DECLARED = {metric.name: metric for metric in metrics.every()}
VALUES = {value for metric in metrics.every() for values in metric.labels.values() for value in values}


def texts() -> Iterator[str]:
    """Everything that holds PromQL."""
    for file in sorted(RULES.glob("*.yml")):
        yield re.sub(r"#.*", "", file.read_text())
    board = koala()
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])
    yield from (mark["expr"] for mark in board["annotations"]["list"])


def test_every_metric_that_is_asked_for_is_declared() -> None:
    asked = {name for text in texts() for name in re.findall(r"\bkoala_[a-z_]+\b", text)}
    known = {name + end for name in DECLARED for end in ("", "_bucket", "_sum", "_count")}
    assert sorted(asked - known) == []


def test_every_recorded_series_is_asked_for_and_the_other_way_round() -> None:
    recorded = {name for text in texts() for name in re.findall(r"record: (koala:[a-z_]+)", text)}
    asked = {name for text in texts() for name in re.findall(r"(?<!record: )(?<!koala)\b(koala:[a-z_]+)", text)}
    assert asked == recorded


def test_every_value_of_a_label_that_is_asked_for_can_be() -> None:
    """A reason that was renamed would be a rule that never fires."""
    asked = {
        value
        for text in texts()
        for label, values in re.findall(r'\b(reason|status|outcome|state|sign|kind|how)=~?"([^"]+)"', text)
        for value in values.split("|")
    }
    words = set(re.findall(r"labels: \{ state: ([a-z ]+) \}", (RULES / "state.yml").read_text()))
    assert sorted(asked - VALUES - words) == []


def test_every_alert_says_what_to_do_and_has_its_section() -> None:
    text = (RULES / "alerts.yml").read_text()
    alerts = re.split(r"^      - alert: ", text, flags=re.MULTILINE)[1:]
    names = [alert.split("\n")[0] for alert in alerts]
    for name, alert in zip(names, alerts, strict=True):
        assert re.search(r"severity: (critical|warning)", alert)
        assert "summary: " in alert
        assert "description: >-" in alert
        assert f"runbook: docs/alerts.md#{name.lower()}\n" in alert
    sections = re.findall(r"^## (Koala\w+)$", (DOCS / "alerts.md").read_text(), re.MULTILINE)
    assert sections == names


def test_every_word_is_explained() -> None:
    words = re.findall(r"labels: \{ state: ([a-z ]+) \}", (RULES / "state.yml").read_text())
    rows = re.findall(r"^\| ([a-z ]+) \| ", (DOCS / "alerts.md").read_text(), re.MULTILINE)
    assert [row for row in rows if row in words] == words
