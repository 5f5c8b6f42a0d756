"""With a proxy, nothing of a browser goes around it: no page, no driver, no WebRTC."""

from __future__ import annotations

import dataclasses
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import pytest
from playwright.async_api import BrowserContext

from demo.shop.server import ShopProcess
from koala.fence import Fence
from tests.support.opened import Listener
from tests.support.proxy import Proxy
from worker.browser import BrowserOptions, Browsers, Driver, WarmShell, open_profile
from worker.engine import Engine
from worker.pages import Pages
from worker.profiles import ProfileDirectory

Opened = Callable[[], AsyncIterator[BrowserContext]]

GATHER = """async address => {
  const peer = new RTCPeerConnection({iceServers: [{urls: `stun:${address}`}]});
  const found = [];
  const one = new Promise(done => peer.onicecandidate = event => {
    if (event.candidate) found.push(event.candidate.candidate);
    done();
  });
  peer.createDataChannel('x');
  await peer.setLocalDescription(await peer.createOffer());
  await one;
  return found;
}"""


@pytest.fixture
def proxy(shop: ShopProcess) -> Iterator[Proxy]:
    """It alone knows where shop.test is, and what answers at a loopback address where nobody listens."""
    real = urlsplit(shop.url).netloc
    with Proxy({"shop.test": real, "localhost": real, "127.0.0.9": real}) as running:
        yield running


@pytest.fixture(params=["profile", "throw-away"])
def opened(
    request: pytest.FixtureRequest,
    driver: Driver,
    profile: ProfileDirectory,
    browsers: Browsers,
    options: BrowserOptions,
) -> Callable[[str | None], AsyncIterator[BrowserContext]]:
    """A context of either kind, through a proxy."""

    @asynccontextmanager
    async def open_(proxy: str | None) -> AsyncIterator[BrowserContext]:
        given = dataclasses.replace(options, proxy=proxy)
        if request.param == "profile":
            browser = await open_profile(driver, profile, Fence(1, 1), browsers.for_profile(), given)
            yield browser.context
            await browser.close()
        else:
            shell = WarmShell(driver, browsers.for_throw_away(), given)
            yield await shell.context(Fence(1, 1))
            await shell.close(settled=True)

    return open_  # type: ignore[return-value]


async def test_pages_go_through_it_also_to_loopback_names(opened: Opened, proxy: Proxy) -> None:
    async with opened(proxy.url) as context:
        page = await context.new_page()
        for site in ("http://shop.test", "http://localhost", "http://127.0.0.9"):
            answer = await page.goto(f"{site}/login")
            assert answer
            assert answer.status == 200
            assert f"GET {site}/login" in proxy.passed


@pytest.fixture
def udp() -> Iterator[socket.socket]:
    """Where a page sends UDP, if it can."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listening:
        listening.bind(("127.0.0.1", 0))
        listening.setblocking(False)
        yield listening


async def test_webrtc_finds_no_way_around_it(opened: Opened, proxy: Proxy, udp: socket.socket) -> None:
    """No candidate of ours is told to the page, and no packet leaves."""
    async with opened(proxy.url) as context:
        page = await context.new_page()
        await page.goto("http://shop.test/login")
        assert await page.evaluate(GATHER, f"127.0.0.1:{udp.getsockname()[1]}") == []
        with pytest.raises(BlockingIOError):
            udp.recvfrom(1)


async def test_without_a_proxy_webrtc_works(opened: Opened, shop: ShopProcess, udp: socket.socket) -> None:
    async with opened(None) as context:
        page = await context.new_page()
        await page.goto(f"{shop.url}/login")
        assert await page.evaluate(GATHER, f"127.0.0.1:{udp.getsockname()[1]}")


@pytest.mark.parametrize("name", ["alice", ""], ids=["profile", "throw-away"])
async def test_what_the_driver_sends_in_an_act_goes_through_it(
    driver: Driver, browsers: Browsers, options: BrowserOptions, proxy: Proxy, name: str
) -> None:
    given = dataclasses.replace(options, proxy=proxy.url)
    engine = Engine(driver.volume, lambda: browsers, given, lambda lock: None, driver)
    pages = Pages(engine, name, Fence(1, 1), given, Listener())
    page = await pages.page()
    await page.goto("http://shop.test/login")
    await page.fill("#username", "alice")
    await page.fill("#password", "alice-pw")
    await pages.shield(True)
    async with page.expect_navigation():
        await page.click("main button")
    await pages.shield(False)
    assert "POST http://shop.test/login" in proxy.passed
    assert page.url == "http://shop.test/account"
    await pages.close(5)
    if engine.shell:
        await engine.shell.close(settled=True)
