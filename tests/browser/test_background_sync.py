"""No page may queue requests that the browser sends later, whatever kind of context it is in."""

from __future__ import annotations

from koala.fence import Fence
from tests.support.site import welcoming_site
from tests.support.visitor import Visitor
from worker.browser import BrowserOptions, Browsers, Driver, WarmShell

ASK = "async () => [(await navigator.permissions.query({name: 'background-sync'})).state, 'serviceWorker' in navigator]"


async def test_in_a_profile(visitor: Visitor) -> None:
    browser = await visitor.open()
    with welcoming_site() as site:
        page = await browser.new_page()
        await page.goto(site)
        assert await page.evaluate(ASK) == ["denied", True]
    await browser.close()


async def test_in_a_throw_away_context_of_full_chromium(
    driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    """Where there is no headless shell; that one has no background sync at all."""
    warm = WarmShell(driver, browsers.for_profile(), options)
    for number in range(2):
        context = await warm.context(Fence(1, number + 1))
        with welcoming_site() as site:
            page = await context.new_page()
            await page.goto(site)
            assert await page.evaluate(ASK) == ["denied", True]
        assert await warm.give_back(context)
    await warm.close(settled=True)
