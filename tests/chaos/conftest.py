"""Whole pools for tests that break them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.live_pool import LivePool


@pytest.fixture
def pool() -> Iterator[LivePool]:
    """A pool of one's own with a Redis and a shop, and nothing started yet."""
    with LivePool() as opened:
        yield opened
