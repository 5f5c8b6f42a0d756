"""A shop, a volume, a driver: real ones, new for each test except the shop."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from demo.shop.server import ShopProcess
from koala.fence import Fence
from tests.support.data import data_volume
from tests.support.visitor import Visitor
from worker import profiles
from worker.browser import BrowserOptions, Browsers, Driver, find_browsers
from worker.profiles import ProfileDirectory
from worker.volume import Volume


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopProcess]:
    with ShopProcess(tmp_path_factory.mktemp("shop"), users={"alice": "alice-pw"}) as running:
        yield running


@pytest.fixture
def where() -> Iterator[Volume]:
    with data_volume() as made:
        yield made


@pytest.fixture
def profile(where: Volume) -> ProfileDirectory:
    return profiles.create(where, "alice")


@pytest.fixture
def tmp(where: Volume) -> Path:
    made = where.tmp / "attempt"
    made.mkdir()
    return made


@pytest.fixture
def options(tmp: Path) -> BrowserOptions:
    return BrowserOptions(tmp=tmp, sandbox=os.geteuid() != 0)


@pytest.fixture(scope="session")
def browsers() -> Browsers:
    return find_browsers()


@pytest.fixture
async def driver(where: Volume, tmp: Path) -> AsyncIterator[Driver]:
    started = await Driver.start(where, Fence(1, 1), tmp=tmp)
    yield started
    await started.stop(settled=True)


@pytest.fixture
def visitor(
    driver: Driver, profile: ProfileDirectory, browsers: Browsers, options: BrowserOptions, shop: ShopProcess
) -> Visitor:
    return Visitor(driver, profile, browsers.for_profile(), options, shop.url)
