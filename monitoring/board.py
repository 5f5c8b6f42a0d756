"""A Grafana dashboard of panels, as the classic JSON that file provisioning reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from monitoring.panels import SOURCE, Json, Panel

SCHEMA_VERSION = 41
"""Up to 42 it is the classic form."""
COLUMNS = 24


def rows(lines: Sequence[Sequence[Panel]]) -> list[Json]:
    """Every panel at its place: each line left to right, its panels of one height, all columns used."""
    placed: list[Json] = []
    y = 0
    for line in lines:
        x = 0
        for panel in line:
            placed.append(panel.json(len(placed) + 1, x, y))
            x += panel.width
        y += max(panel.height for panel in line)
    return placed


def dashboard(uid: str, title: str, lines: Sequence[Sequence[Panel]], marks: Mapping[str, str]) -> Json:
    """The whole dashboard, one hour back, read again every ten seconds. `marks` are annotations, name to PromQL."""
    return {
        "uid": uid,
        "title": title,
        "tags": ["koala"],
        "schemaVersion": SCHEMA_VERSION,
        "version": 1,
        "editable": False,
        "graphTooltip": 1,
        "timezone": "browser",
        "weekStart": "",
        "fiscalYearStartMonth": 0,
        "liveNow": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timepicker": {},
        "templating": {"list": []},
        "annotations": {"list": [_mark(name, expr) for name, expr in marks.items()]},
        "links": [],
        "panels": rows(lines),
    }


def _mark(name: str, expr: str) -> Json:
    return {
        "name": name,
        "datasource": SOURCE,
        "enable": True,
        "hide": False,
        "iconColor": "red",
        "expr": expr,
        "step": "10s",
        "titleFormat": "{{alertname}}",
        "textFormat": "",
        "tagKeys": "severity",
        "useValueForTime": False,
    }
