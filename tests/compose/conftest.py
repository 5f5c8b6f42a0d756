"""The images that these tests run, built once."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.compose_pool import ROOT, ComposePool, run

HERE = Path(__file__).parent
TAG = "1"
BASE = "koala:test"
SHOP = """FROM koala:test
COPY . /opt/koala/app/demo
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Images are built and pools started inside the first test that needs them.

    The tests of the shared pool come last, so that it does not stand beside another.
    """
    items.sort(key=lambda item: "shared" in getattr(item, "fixturenames", ()))
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.timeout(900))


@pytest.fixture(scope="session")
def images() -> str:
    """The tag under which everything is built: Koala's image, an author's on top of it, the egress's and the shop's."""
    build = ["docker", "build", "--quiet", "--network", "host"]
    run([*build, "--tag", BASE, "--build-arg", "VERSION=test", "."], dict(os.environ))
    shop = subprocess.run(
        [*build, "--tag", "koala-test-shop:test", "--file", "-", "demo"], cwd=ROOT, input=SHOP, text=True, check=True
    )
    assert shop.returncode == 0
    with ComposePool(TAG) as pool:
        pool.compose("build", "--quiet", "worker", "egress")
    return TAG


@pytest.fixture(scope="session")
def shared(images: str) -> Iterator[ComposePool]:
    """A pool of two workers and a Prometheus, for modules that leave it as they found it."""
    with ComposePool(images, COMPOSE_PROFILES="monitoring") as made:
        made.up()
        yield made


@pytest.fixture(scope="module")
def pool(images: str) -> Iterator[ComposePool]:
    """A pool of two workers that the tests of one module share, to do with as they like."""
    with ComposePool(images) as made:
        made.up()
        yield made
