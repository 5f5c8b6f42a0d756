"""The rule of tests/conftest.py: a service missing skips at home and fails in CI."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def run_suite(root: Path, folder: str, **env: str) -> str:
    """Run a suite of one empty test in `folder`, where no program is on PATH; return pytest's output."""
    place = root / folder
    place.mkdir()
    shutil.copy(CONFTEST, root)
    (place / "test_one.py").write_text("def test_one(): pass\n")
    marks = [f"--override-ini=markers={mark}" for mark in ("redis\nbrowser\nchaos",)]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rs",
        "--strict-markers",
        *marks,
        f"--rootdir={root}",
        str(root),
    ]
    inherited = {name: value for name, value in os.environ.items() if name != "CI"}
    return subprocess.run(command, cwd=root, env=inherited | {"PATH": ""} | env, text=True, capture_output=True).stdout


@pytest.mark.parametrize("folder", ["redis", "chaos"])
def test_a_missing_service_skips_at_home_and_says_which(tmp_path: Path, folder: str) -> None:
    output = run_suite(tmp_path, folder)
    assert "1 skipped" in output
    assert "needs redis-server" in output


@pytest.mark.parametrize("folder", ["redis", "chaos"])
def test_a_missing_service_fails_in_ci(tmp_path: Path, folder: str) -> None:
    output = run_suite(tmp_path, folder, CI="true")
    assert "1 error" in output
    assert "needs redis-server" in output


def test_a_unit_test_needs_nothing(tmp_path: Path) -> None:
    assert "1 passed" in run_suite(tmp_path, "unit", CI="true")
