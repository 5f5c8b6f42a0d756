"""What a test needs is said by its folder; a need that is missing skips it at home and fails it in CI."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent

NEEDS = {
    "alerts": ("prometheus",),
    "redis": ("redis",),
    "browser": ("browser",),
    "chaos": ("chaos", "redis", "browser"),
    "compose": ("compose",),
    "systemd": ("systemd",),
}
"""Markers given to every test below a folder of `tests/`; `unit` needs nothing."""

CHROMIUM = Path("/usr/lib/chromium")
ENGINE = {"compose": ("compose", "ls"), "systemd": ("info",)}
"""Folders whose tests need a Docker engine, and what it has to answer."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for marker in NEEDS.get(_folder(item.path), ()):
            item.add_marker(marker)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Raise skip (or, with CI=true, failure) naming everything that this test needs and lacks."""
    missing = list(_missing(item))
    if not missing:
        return
    made_by = next((f"make test-{name}" for name in ENGINE if item.get_closest_marker(name)), "make install")
    reason = f"needs {' and '.join(missing)}: run `{made_by}`"
    if os.environ.get("CI") == "true":
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _folder(path: Path) -> str:
    """The folder of `tests/` that a test file is in, empty when it is in none."""
    parts = path.relative_to(HERE).parts if path.is_relative_to(HERE) else ()
    return parts[0] if len(parts) > 1 else ""


@cache
def _answers(name: str) -> bool:
    try:
        return subprocess.run(["docker", *ENGINE[name]], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def _missing(item: pytest.Item) -> Iterator[str]:
    if item.get_closest_marker("redis") and shutil.which("redis-server") is None:
        yield "redis-server"
    if item.get_closest_marker("prometheus") and shutil.which("promtool") is None:
        yield "prometheus"
    if item.get_closest_marker("display") and shutil.which("Xvfb") is None:
        yield "Xvfb (apt-get install xvfb)"
    yield from (f"a Docker engine ({name})" for name in ENGINE if item.get_closest_marker(name) and not _answers(name))
    if item.get_closest_marker("browser"):
        yield from (name for name in ("chromium", "chromium-headless-shell") if not (CHROMIUM / name).exists())
