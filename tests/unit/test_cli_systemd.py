"""`koala systemd check`: what to type, and what the answers mean."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from koala.cli import systemd

RUNNER = CliRunner()


def test_the_checks_only_read() -> None:
    verbs = {one.command[:2] for one in systemd.CHECKS}
    assert verbs == {("systemctl", "list-timers"), ("systemctl", "status"), ("journalctl", "--no-pager")}


def test_each_is_printed_with_its_meaning() -> None:
    said = RUNNER.invoke(systemd.app, ["check"], env={"COLUMNS": "200"}).stdout
    for one in systemd.CHECKS:
        assert one.line in said
        assert all(word in said and meaning in said for word, meaning in one.words.items())
    told = json.loads(RUNNER.invoke(systemd.app, ["check", "--json"]).stdout)
    assert [one["command"] for one in told] == [list(one.command) for one in systemd.CHECKS]


def test_running_them_where_there_is_no_systemd_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    error = RUNNER.invoke(systemd.app, ["check", "--run"]).exception
    assert "does not run systemd" in str(error)
