"""The image of a machine on which the units are installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.systemd_pool import IMAGE, SystemdPool

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The image is built, and the machine started, inside the first test that needs it."""
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def image() -> str:
    """A Debian on which `make install-systemd` was run."""
    command = ["docker", "build", "--network=host", f"--tag={IMAGE}", "--file=tests/systemd/Dockerfile", "."]
    environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return IMAGE


@pytest.fixture(scope="session")
def pool(image: str) -> Iterator[SystemdPool]:
    """One machine for all of these tests, its pool started."""
    with SystemdPool() as made:
        made.up()
        yield made
