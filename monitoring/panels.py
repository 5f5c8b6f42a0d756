"""Panels of a Grafana dashboard and their queries, as classic JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

Json = dict[str, Any]

SOURCE: Json = {"type": "prometheus", "uid": "koala-prometheus"}
"""The provisioned datasource, by its fixed uid."""


@dataclass(frozen=True)
class Query:
    """One PromQL expression; `legend` names its series (`{{label}}`). `now` asks for one instant, not a range."""

    expr: str
    legend: str = ""
    now: bool = False

    def json(self, ref: str) -> Json:
        """As a panel's target."""
        return {
            "refId": ref,
            "datasource": SOURCE,
            "editorMode": "code",
            "expr": self.expr,
            "legendFormat": self.legend or "__auto",
            "range": not self.now,
            "instant": self.now,
        }


@dataclass(frozen=True)
class Word:
    """What a value means: a word and its colour."""

    text: str
    color: str


@dataclass(frozen=True)
class Panel:
    """A question that `queries` answer; `look` says what to do when the answer is wrong.

    `steps` are thresholds, the first without a value; `words` replace values. `absent` is shown for no data.
    """

    question: str
    look: str
    queries: Sequence[Query]
    unit: str = "short"
    width: int = 12
    height: int = 8
    steps: Sequence[tuple[str, float | None]] = (("green", None),)
    words: Mapping[int, Word] = field(default_factory=dict)
    absent: str = "none"

    kind = ""

    def json(self, id: int, x: int, y: int) -> Json:
        """The panel at its place."""
        return {
            "id": id,
            "type": self.kind,
            "title": self.question,
            "description": self.look,
            "gridPos": {"h": self.height, "w": self.width, "x": x, "y": y},
            "datasource": SOURCE,
            "fieldConfig": {"defaults": self._defaults(), "overrides": []},
            "options": self._options(),
            "targets": [query.json(ref) for ref, query in zip(ascii_uppercase, self.queries, strict=False)],
        }

    def _defaults(self) -> Json:
        """What holds for every field; `noValue` tells an empty answer from a broken panel."""
        return {
            "unit": self.unit,
            "noValue": self.absent,
            "color": {"mode": "thresholds"},
            "mappings": self._mappings(),
            "thresholds": {"mode": "absolute", "steps": [{"color": c, "value": v} for c, v in self.steps]},
            "custom": self._custom(),
        }

    def _mappings(self) -> list[Json]:
        options = {
            str(value): {"text": word.text, "color": word.color, "index": index}
            for index, (value, word) in enumerate(self.words.items())
        }
        return [{"type": "value", "options": options}] if options else []

    def _custom(self) -> Json:
        return {}

    def _options(self) -> Json:
        raise NotImplementedError


class Stat(Panel):
    """The last value, large and in its colour."""

    kind = "stat"

    def _options(self) -> Json:
        return {
            "colorMode": "background_solid" if self.words else "value",
            "graphMode": "none",
            "justifyMode": "center",
            "orientation": "auto",
            "percentChangeColorMode": "standard",
            "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
            "showPercentChange": False,
            "textMode": "auto" if len(self.queries) > 1 or self.queries[0].legend else "value",
            "wideLayout": True,
        }


class Lines(Panel):
    """Series over time."""

    kind = "timeseries"

    def _defaults(self) -> Json:
        return {**super()._defaults(), "min": 0, "color": {"mode": "palette-classic"}}

    def _custom(self) -> Json:
        return {
            "axisPlacement": "auto",
            "drawStyle": "line",
            "fillOpacity": 10,
            "lineInterpolation": "stepAfter",
            "lineWidth": 1,
            "showPoints": "never",
            "spanNulls": False,
            "stacking": {"mode": "none", "group": "A"},
            "thresholdsStyle": {"mode": "line" if len(self.steps) > 1 else "off"},
        }

    def _options(self) -> Json:
        return {
            "legend": {"showLegend": True, "displayMode": "list", "placement": "bottom", "calcs": []},
            "tooltip": {"mode": "multi", "sort": "desc"},
        }


class Stack(Lines):
    """Series over time that add up to a whole."""

    def _custom(self) -> Json:
        return {**super()._custom(), "fillOpacity": 60, "stacking": {"mode": "normal", "group": "A"}}


class States(Panel):
    """What was so when: a bar for each series."""

    kind = "state-timeline"

    def _custom(self) -> Json:
        return {"fillOpacity": 80, "lineWidth": 0}

    def _options(self) -> Json:
        return {
            "alignValue": "left",
            "legend": {"showLegend": False, "displayMode": "list", "placement": "bottom", "calcs": []},
            "mergeValues": True,
            "rowHeight": 0.9,
            "showValue": "auto" if self.words else "never",
            "tooltip": {"mode": "single", "sort": "none"},
        }
