"""The dashboard is what Grafana's file provisioning reads, and asks questions that a person can act on."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from monitoring import __main__ as writer
from monitoring.board import COLUMNS
from monitoring.dashboard import LINES, koala
from monitoring.state import STATES

MONITORING = Path(__file__).resolve().parents[2] / "monitoring"
PANELS: list[dict[str, Any]] = koala()["panels"]

OPTIONS = {
    "stat": {
        *("colorMode", "graphMode", "justifyMode", "orientation", "percentChangeColorMode", "reduceOptions"),
        *("showPercentChange", "textMode", "wideLayout"),
    },
    "timeseries": {"legend", "tooltip"},
    "state-timeline": {"alignValue", "legend", "mergeValues", "rowHeight", "showValue", "tooltip"},
}
"""The kinds of panels in use, and what each is told."""
UNITS = {"short", "s"}
COLORS = {"green", "orange", "red", "blue"}


each_panel = pytest.mark.parametrize("panel", PANELS, ids=[panel["title"] for panel in PANELS])


def test_the_file_is_what_the_code_writes() -> None:
    """`python -m monitoring` was run after the last change."""
    assert writer.DASHBOARD.read_text("utf-8") == writer.text()


def test_it_is_the_classic_form_that_provisioning_takes() -> None:
    """Grafana 13 saves another form, which file provisioning refuses."""
    board = koala()
    assert board["schemaVersion"] <= 42
    assert {"spec", "apiVersion", "kind", "elements", "layout"}.isdisjoint(board)
    assert (board["uid"], board["editable"]) == ("koala", False)
    assert board["time"]["from"].startswith("now-")


def test_nothing_can_be_changed_where_it_would_be_lost() -> None:
    provider = (MONITORING / "grafana" / "dashboards" / "koala.yml").read_text()
    assert "allowUiUpdates: false" in provider
    assert "disableDeletion: true" in provider
    assert "editable: false" in (MONITORING / "grafana" / "datasources" / "prometheus.yml").read_text()


def test_every_query_asks_the_provisioned_source() -> None:
    uid = re.search(r"uid: (\S+)", (MONITORING / "grafana" / "datasources" / "prometheus.yml").read_text())
    assert uid
    asked = [*PANELS, *koala()["annotations"]["list"], *(target for panel in PANELS for target in panel["targets"])]
    source = {"type": "prometheus", "uid": uid[1]}
    assert [item for item in asked if item["datasource"] != source] == []


def test_panels_fill_the_width_and_none_covers_another() -> None:
    cells = [
        (x, y)
        for panel in PANELS
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    height = max(y for _, y in cells) + 1
    assert len(cells) == len(set(cells)) == COLUMNS * height
    assert max(x for x, _ in cells) == COLUMNS - 1


def test_panels_have_ids_of_their_own() -> None:
    assert [panel["id"] for panel in PANELS] == list(range(1, len(PANELS) + 1))
    titles = [panel["title"] for panel in PANELS]
    assert len(set(titles)) == len(titles)


@each_panel
def test_a_panel_asks_a_question_and_says_what_to_do(panel: dict[str, Any]) -> None:
    assert panel["title"].endswith("?")
    assert len(panel["description"]) > 60
    assert panel["description"].endswith(".")


@each_panel
def test_a_panel_has_all_that_its_kind_needs(panel: dict[str, Any]) -> None:
    assert set(panel) == {
        *("id", "type", "title", "description", "gridPos", "datasource", "fieldConfig", "options", "targets")
    }
    assert set(panel["options"]) == OPTIONS[panel["type"]]
    defaults = panel["fieldConfig"]["defaults"]
    assert defaults["unit"] in UNITS
    assert defaults["noValue"]
    steps = defaults["thresholds"]["steps"]
    assert steps[0]["value"] is None
    assert all(one["value"] < two["value"] for one, two in pairwise(steps[1:]))
    assert {step["color"] for step in steps} <= COLORS


@each_panel
def test_a_panel_names_its_queries_and_their_series(panel: dict[str, Any]) -> None:
    targets = panel["targets"]
    assert targets
    assert [target["refId"] for target in targets] == list("ABCDEFG"[: len(targets)])
    for target in targets:
        assert target["instant"] is not target["range"]
        assert target["instant"] is (panel["type"] == "stat")
        assert panel["type"] == "stat" or target["legendFormat"] != "__auto"


def test_the_first_thing_that_it_shows_is_the_state_in_the_words_of_the_rules() -> None:
    rules = (MONITORING / "prometheus" / "rules" / "state.yml").read_text()
    assert re.findall(r"labels: \{ state: ([a-z ]+) \}", rules) == [state.word for state in STATES]
    (mapping,) = PANELS[0]["fieldConfig"]["defaults"]["mappings"]
    shown = {int(value): (word["text"], word["color"]) for value, word in mapping["options"].items()}
    assert shown == {rank: (state.word, state.color) for rank, state in enumerate(STATES, 1)}
    assert PANELS[0]["targets"][0]["expr"] == "koala:state"


def test_the_panels_of_a_line_are_of_one_height() -> None:
    assert [line for line in LINES if len({panel.height for panel in line}) > 1] == []
