"""What a site gets from an act is what it gets from the same page outside one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.async_api import Page

from tests.support.opened import pages_of
from tests.support.site import Answer, Site, served
from worker.browser import BrowserOptions, Browsers, Driver

FORM = "<form method=post action=/sent><input name=a value='ë b'><button>send</button></form>"
FRAMED = f'<iframe srcdoc="{FORM}"></iframe>'
OTHERS = frozenset({"host", "connection", "cache-control", "pragma", "upgrade-insecure-requests"})
"""What is of the connection, or that the page asked past its cache."""


class Noting(Answer):
    """Notes the headers and the body of each post."""

    def do_GET(self) -> None:
        self.say(FORM if self.path == "/form" else FRAMED if self.path == "/framed" else "")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.say("sent")


@pytest.fixture
def site() -> Iterator[Site]:
    with served(Noting) as made:
        yield made


async def by_form(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/form")
    await page.click("button")
    await page.wait_for_url("**/sent")


async def by_framed_form(page: Page, site: Site) -> None:
    await page.goto(f"{site.url}/framed")
    await page.frame_locator("iframe").locator("button").click()
    await page.frame_locator("iframe").get_by_text("sent").wait_for()


async def by_fetch(page: Page, site: Site) -> None:
    await page.goto(site.url)
    await page.evaluate("fetch('/sent', {method: 'POST', body: JSON.stringify({a: 'ë'}), headers: {'x-mine': '1'}})")


async def by_old_request(page: Page, site: Site) -> None:
    await page.goto(site.url)
    sent = "const asked = new XMLHttpRequest(); asked.onload = done; asked.open('POST', '/sent'); asked.send('a')"
    await page.evaluate(f"new Promise(done => {{ {sent} }}).then(() => 0)")


@pytest.mark.parametrize("send", [by_form, by_framed_form, by_fetch, by_old_request])
async def test_an_acts_request_is_the_pages_own(
    driver: Driver, browsers: Browsers, options: BrowserOptions, site: Site, send: object
) -> None:
    """Sites check `Sec-Fetch-…` against forged requests."""
    assert callable(send)
    pages = pages_of("alice", driver, browsers, options)
    page = await pages.page()
    await send(page, site)
    await pages.shield(True)
    await send(page, site)
    await pages.shield(False)
    await pages.close(5)
    (plain, body), (acted, same) = site.asked
    assert same == body
    compared = (plain.keys() | acted.keys()) - OTHERS - {"accept-encoding"}
    assert {name: acted.get(name) for name in compared} == {name: plain.get(name) for name in compared}
