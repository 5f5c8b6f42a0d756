"""A site's service worker sends what pages ask for, and words of its own: guard and shield reach both."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from playwright.async_api import Page

from koala.fence import Fence
from worker.browser import BrowserOptions, Browsers, Driver
from worker.engine import Engine
from worker.pages import Pages

FORWARDING = b"""
self.oninstall = () => self.skipWaiting();
self.onactivate = event => event.waitUntil(clients.claim());
self.onfetch = event => event.respondWith(fetch(event.request));
self.onmessage = event => fetch("/own", {method: "POST"})
    .then(answer => answer.status, () => "failed")
    .then(said => event.source.postMessage(said));
"""
REGISTER = "navigator.serviceWorker.register('/worker.js').then(() => navigator.serviceWorker.ready).then(() => 0)"
THROUGH = "fetch('/through', {method: 'POST'}).then(answer => answer.status, () => 'failed')"
OWN = """new Promise(answered => {
    navigator.serviceWorker.onmessage = event => answered(event.data);
    navigator.serviceWorker.controller.postMessage('');
})"""


class Site(ThreadingHTTPServer):
    """Stores what is posted and cuts the connection without a word, but for the first post."""

    daemon_threads = True
    posts: list[str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        script = self.path == "/worker.js"
        self._say(FORWARDING if script else b"<html></html>", "text/javascript" if script else "text/html")

    def do_POST(self) -> None:
        self.server.posts.append(self.path)
        if len(self.server.posts) == 1:
            self._say(b"", "text/plain")
        else:
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        return

    def _say(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site(("127.0.0.1", 0), Answer) as made:
        made.posts = []
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


class Untold:
    """Remembers what was blocked."""

    def __init__(self) -> None:
        self.seen: list[dict[str, object]] = []

    async def opened(self, found: dict[str, object]) -> None:
        """Nothing."""

    async def blocked(self, what: dict[str, object]) -> None:
        """One more."""
        self.seen.append(what)


@asynccontextmanager
async def visiting(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, told: Untold
) -> AsyncIterator[tuple[Pages, Page]]:
    """A profile's page that the site's service worker controls."""
    engine = Engine(driver.volume, lambda: browsers, options, lambda lock: None, driver)
    pages = Pages(engine, "alice", Fence(1, 1), options, told)
    page = await pages.page()
    await page.goto(site.url)
    await page.evaluate(REGISTER)
    await page.wait_for_function("navigator.serviceWorker.controller")
    yield pages, page
    await pages.close(5)


@pytest.fixture(params=["through", "own"])
def post(request: pytest.FixtureRequest) -> str:
    """What the page does, so that the service worker sends a post."""
    return {"through": THROUGH, "own": OWN}[request.param]


async def test_a_guarded_site_is_not_posted_to(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, post: str
) -> None:
    told = Untold()
    async with visiting(driver, browsers, options, site, told) as (pages, page):
        await pages.guard(("127.0.0.1",))
        assert await page.evaluate(post) == 403
    assert site.posts == []
    assert told.seen == [{"method": "POST", "host": "127.0.0.1"}]


async def test_in_an_act_a_post_whose_connection_is_cut_is_not_repeated(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, post: str
) -> None:
    """Chromium by itself does, as a rule: without the shield the site stores it several times."""
    async with visiting(driver, browsers, options, site, Untold()) as (pages, page):
        assert await page.evaluate(post) == 200, "so the connection was used before"
        await pages.shield(True)
        assert await page.evaluate(post) == "failed"
        await pages.shield(False)
    assert len(site.posts) == 2
