"""A shop for the tests of a module, with good manners at the beginning of each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from demo.shop.server import ShopProcess


@pytest.fixture(scope="module")
def running_shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ShopProcess]:
    with ShopProcess(tmp_path_factory.mktemp("shop")) as shop:
        yield shop


@pytest.fixture
def shop(running_shop: ShopProcess) -> ShopProcess:
    running_shop.clear_manners()
    return running_shop
