"""A pool behind a proxy: all that its tasks say to a site goes through it, whoever of them says it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.live_pool import LivePool
from tests.support.proxy import Proxy


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy() as running:
        yield running


def test_an_order_goes_through_the_proxy_by_http_and_by_browser(proxy: Proxy) -> None:
    """By HTTP the workflow itself sends it; in a browser the driver does, during the act."""
    with LivePool(KOALA_PROXY=proxy.url) as pool:
        pool.start(1)
        pool.until_done(pool.order("by-http"))
        assert [one for one in proxy.passed if one.startswith("POST")] == [f"POST {pool.shop.url}/api/orders"]
        pool.until_done(pool.errand("test.browse", "by-browser"))
        assert pool.orders("by-http") == pool.orders("by-browser") == 1
        posts = [one.removeprefix(f"POST {pool.shop.url}") for one in proxy.passed if one.startswith("POST")]
    assert posts[:2] == ["/api/orders", "/login"]
    assert len(posts) >= 3  # the order itself, from within the act
