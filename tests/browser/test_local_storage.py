"""Promise 10, for sites that keep their login in local storage, which Chromium writes seconds later."""

from __future__ import annotations

import stat
from collections.abc import Iterator

import pytest
from playwright.async_api import Page

from tests.support.site import Answer, Site, served
from tests.support.visitor import Visitor
from worker.browser import ProfileBrowser
from worker.profiles import databases, leveldb

Items = dict[str, str]


class Empty(Answer):
    """Notes each path."""

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.say("<html><title>site</title></html>")


def serve() -> Iterator[Site]:
    with served(Empty) as made:
        yield made


site = pytest.fixture(serve)
other = pytest.fixture(serve)


async def visit(browser: ProfileBrowser, at: Site, **items: str | None) -> Page:
    """A new tab at the site, which sets these items, or removes them."""
    page = await browser.new_page()
    await page.goto(at.url)
    for name, value in items.items():
        if value is None:
            await page.evaluate("name => localStorage.removeItem(name)", name)
        else:
            await page.evaluate("([name, value]) => localStorage.setItem(name, value)", [name, value])
    return page


async def items(browser: ProfileBrowser, at: Site) -> Items:
    """What the site finds."""
    page = await visit(browser, at)
    return dict(await page.evaluate("Object.entries(localStorage)"))


async def written(visitor: Visitor, browser: ProfileBrowser, page: Page) -> None:
    """Close the site's last tab: then Chromium writes its storage at once."""
    database = visitor.profile.user_data / "Default" / databases.LOCAL_STORAGE
    before = leveldb.position(database)
    await page.close()
    while leveldb.position(database) == before:
        await browser.context.cookies()


async def killed(visitor: Visitor, browser: ProfileBrowser) -> ProfileBrowser:
    """The profile in the next browser, after this one was killed."""
    await browser.kill()
    return await visitor.open()


async def test_without_a_barrier_a_kill_does_lose_it(visitor: Visitor, site: Site) -> None:
    """The other tests here would prove nothing if Chromium wrote it at once."""
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    again = await killed(visitor, browser)
    assert await items(again, site) == {}
    await again.close()


@pytest.mark.parametrize("how", ["barrier", "settle"])
async def test_what_pages_kept_at_the_last_barrier_survives_a_kill(
    visitor: Visitor, site: Site, other: Site, how: str
) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine", user="ann €", odd="\ud83d")
    await visit(browser, other, token="theirs")
    await getattr(browser, how)()
    again = await killed(visitor, browser)
    assert sorted(again.preparation.storage_put_back) == sorted([site.url, other.url])
    assert await items(again, site) == {"token": "mine", "user": "ann €", "odd": "\ud83d"}
    assert await items(again, other) == {"token": "theirs"}
    await again.close()


async def test_it_is_put_back_without_a_word_to_the_site(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    await browser.barrier()
    site.asked.clear()
    again = await killed(visitor, browser)
    assert site.asked == []
    assert await items(again, site) == {"token": "mine"}, "and the browser is online again"
    assert "/" in site.asked
    await again.close()


async def test_it_survives_one_kill_after_the_other(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    await browser.barrier()
    for _ in range(2):
        browser = await killed(visitor, browser)
    assert await items(browser, site) == {"token": "mine"}
    await browser.close()


async def test_what_chromium_wrote_after_the_barrier_is_newer_and_stays(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    page = await visit(browser, site, token="old", gone="x")
    await browser.barrier()
    await page.evaluate("localStorage.setItem('token', 'new'); localStorage.removeItem('gone')")
    await written(visitor, browser, page)
    again = await killed(visitor, browser)
    assert again.preparation.storage_put_back == ()
    assert await items(again, site) == {"token": "new"}
    await again.close()


async def test_chromiums_own_log_is_understood_over_several_of_its_blocks(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    page = await visit(browser, site, large="x" * 100_000)
    await browser.barrier()
    await page.evaluate("localStorage.setItem('large', 'y'.repeat(200000))")
    await written(visitor, browser, page)
    database = visitor.profile.user_data / "Default" / databases.LOCAL_STORAGE
    assert f"META:{site.url}".encode() in (leveldb.keys_since(database, leveldb.Position()) or set())
    again = await killed(visitor, browser)
    assert again.preparation.storage_put_back == ()
    assert (await items(again, site))["large"] == "y" * 200_000
    await again.close()


async def test_a_logout_survives_too(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    await written(visitor, browser, await visit(browser, site, token="mine", theme="dark"))
    await visit(browser, site, token=None)
    await browser.barrier()
    again = await killed(visitor, browser)
    assert await items(again, site) == {"theme": "dark"}
    await again.close()


async def test_what_a_tab_leaves_behind_for_another_site_chromium_writes_itself(visitor: Visitor, site: Site) -> None:
    """So a login whose last page is elsewhere is not lost, though no barrier sees its site any more."""
    browser = await visitor.open()
    page = await visit(browser, site, token="mine")
    database = visitor.profile.user_data / "Default" / databases.LOCAL_STORAGE
    before = leveldb.position(database)
    await page.goto(site.url.replace("127.0.0.1", "localhost"))
    while leveldb.position(database) == before:
        await browser.context.cookies()
    again = await killed(visitor, browser)
    assert again.preparation.storage_put_back == ()
    assert await items(again, site) == {"token": "mine"}
    await again.close()


async def test_nothing_is_kept_any_more_after_a_clean_close(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    await browser.barrier()
    kept = visitor.profile.pending.path
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert await browser.close() == "clean"
    assert not kept.exists()
    again = await visitor.open()
    assert again.preparation.storage_put_back == ()
    assert await items(again, site) == {"token": "mine"}
    await again.close()


async def test_whether_it_changed_is_known(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    assert not await browser.settle()
    page = await visit(browser, site, token="mine")
    assert await browser.settle()
    assert not await browser.settle()
    await page.evaluate("localStorage.setItem('token', 'other')")
    assert await browser.settle()
    await browser.close()


async def test_a_page_that_computes_for_ever_does_not_hold_a_barrier(visitor: Visitor, site: Site, other: Site) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    busy = await visit(browser, other)
    await busy.evaluate("setTimeout(() => { for (;;) {} })")
    await browser.barrier()
    again = await killed(visitor, browser)
    assert again.preparation.storage_put_back == (site.url,)
    await again.close()


async def test_a_file_that_is_damaged_is_no_obstacle(visitor: Visitor, site: Site) -> None:
    browser = await visitor.open()
    await visit(browser, site, token="mine")
    await browser.barrier()
    visitor.profile.pending.path.write_text('{"http://x": {"items": 1')
    again = await killed(visitor, browser)
    assert again.preparation.storage_put_back == ()
    await again.close()


DATABASE = """(work) => new Promise((resolve, reject) => {
    const opened = indexedDB.open("login", 1);
    opened.onerror = reject;
    opened.onupgradeneeded = () => opened.result.createObjectStore("tokens");
    opened.onsuccess = () => {
        const transaction = opened.result.transaction("tokens", "readwrite");
        const tokens = transaction.objectStore("tokens");
        const done = work ? tokens.put(work, "token") : tokens.get("token");
        transaction.oncomplete = () => resolve(done.result ?? null);
    };
})"""


async def test_what_pages_keep_in_an_indexed_database_needs_no_help(visitor: Visitor, site: Site) -> None:
    """Chromium hands each transaction to the kernel before it says that it is complete."""
    browser = await visitor.open()
    page = await visit(browser, site)
    await page.evaluate(DATABASE, "mine")
    again = await killed(visitor, browser)
    assert await (await visit(again, site)).evaluate(DATABASE, "") == "mine"
    await again.close()
