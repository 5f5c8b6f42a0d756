"""A site's service worker sends what pages ask for, and words of its own: guard and shield reach both."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from playwright.async_api import Page

from tests.support.opened import Listener, pages_of
from tests.support.site import Answer, Site, served
from worker.browser import BrowserOptions, Browsers, Driver
from worker.pages import Pages

FORWARDING = """
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


class Storing(Answer):
    """Stores what is posted and cuts the connection without a word, but for the first post."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        if self.path == "/worker.js":
            self.say(FORWARDING, "text/javascript")
        else:
            self.say("<html></html>")

    def do_POST(self) -> None:
        self.server.asked.append(self.path)
        if len(self.server.asked) == 1:
            self.say("")
        else:
            self.close_connection = True


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Storing) as made:
        yield made


@asynccontextmanager
async def visiting(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, told: Listener
) -> AsyncIterator[tuple[Pages, Page]]:
    """A profile's page that the site's service worker controls."""
    pages = pages_of("alice", driver, browsers, options, told)
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
    told = Listener()
    async with visiting(driver, browsers, options, site, told) as (pages, page):
        await pages.guard(("127.0.0.1",))
        assert await page.evaluate(post) == 403
    assert site.asked == []
    assert told.blocks == [{"method": "POST", "host": "127.0.0.1"}]


async def test_in_an_act_a_post_whose_connection_is_cut_is_not_repeated(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, post: str
) -> None:
    """Chromium by itself does, as a rule: without the shield the site stores it several times."""
    async with visiting(driver, browsers, options, site, Listener()) as (pages, page):
        assert await page.evaluate(post) == 200, "so the connection was used before"
        await pages.shield(True)
        assert await page.evaluate(post) == "failed"
        await pages.shield(False)
    assert len(site.asked) == 2
