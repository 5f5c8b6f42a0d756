"""Prometheus' own checker reads what it will be given."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from monitoring.scale import copy

PROMETHEUS = Path(__file__).resolve().parents[2] / "monitoring" / "prometheus"


@pytest.mark.parametrize("factor", [1, 0.02])
def test_the_configuration_and_all_rules_are_accepted(tmp_path: Path, factor: float) -> None:
    """As they are, and in a test's shorter time."""
    copy(factor, PROMETHEUS, tmp_path)
    check = ["promtool", "check", "config", "--lint-fatal", str(tmp_path / "prometheus.yml")]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 rule files found" in done.stdout
