"""Promise 10: what a profile was logged into at its last barrier is there after whatever was killed."""

from __future__ import annotations

import asyncio
import signal
import stat

import pytest

from tests.support.renderers import renderer
from tests.support.visitor import Visitor
from worker import processes
from worker.browser import cookies

BOTH = {"shop_session", "shop_remember"}


async def test_both_kinds_of_cookie_survive_a_clean_close(visitor: Visitor) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    assert await browser.close() == "clean"
    again = await visitor.open()
    assert not again.preparation.was_unclean
    assert await visitor.cookies(again) == BOTH
    assert await visitor.is_logged_in(again)
    await again.close()


@pytest.mark.parametrize("time", range(5))
async def test_both_kinds_of_cookie_survive_a_kill_after_a_barrier(visitor: Visitor, time: int) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    await browser.barrier()
    processes.end(browser.process)
    await browser.close()
    again = await visitor.open()
    assert again.preparation.was_unclean
    assert not again.preparation.torn
    assert await visitor.cookies(again) == BOTH
    assert await visitor.is_logged_in(again)
    await again.close()


async def test_without_a_barrier_a_kill_does_lose_the_login(visitor: Visitor) -> None:
    """The other tests here would prove nothing if Chromium wrote its cookies by itself."""
    browser = await visitor.open()
    await visitor.log_in(browser)
    await browser.kill()
    again = await visitor.open()
    assert await visitor.cookies(again) == set()
    await again.close()


@pytest.mark.parametrize("victim", ["driver", "renderer"])
async def test_the_login_survives_the_death_of_other_processes(visitor: Visitor, victim: str) -> None:
    browser = await visitor.open()
    page = await visitor.log_in(browser)
    await browser.barrier()
    if victim == "driver":
        processes.end(visitor.driver.process)
    else:
        crashed = asyncio.Event()
        browser.on_crash(lambda _: crashed.set())
        processes.end(await renderer(browser, page))
        async with asyncio.timeout(30):
            await crashed.wait()
    await browser.close()
    default = visitor.profile.user_data / "Default" / "Cookies"
    assert b"shop_remember" in default.read_bytes()
    assert [c["name"] for c in visitor.profile.load_session_cookies()] == ["shop_session"]


async def test_a_barrier_leaves_nothing_of_its_own_and_touches_no_other_cookie(visitor: Visitor) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    before = await cookies.current(browser.context)
    await browser.barrier()
    assert await cookies.current(browser.context) == before
    assert await browser.context.cookies(f"https://{cookies.DOMAIN}/") == []
    await browser.close()


async def test_throw_away_cookies_of_a_killed_barrier_are_cleared_at_the_next_open(visitor: Visitor) -> None:
    browser = await visitor.open()
    default = visitor.profile.user_data / "Default"
    await browser.context.add_cookies(cookies._batch("commit-cut"))  # type: ignore[arg-type]
    assert await cookies._seen(default, "commit-cut", asyncio.get_running_loop().time() + 5)
    await browser.kill()
    again = await visitor.open()
    assert await again.context.cookies(f"https://{cookies.DOMAIN}/") == []
    await again.close()


async def test_a_barrier_is_made_only_over_what_has_changed(visitor: Visitor) -> None:
    browser = await visitor.open()
    assert not await browser.settle()
    await visitor.log_in(browser)
    assert await browser.settle()
    assert not await browser.settle()
    await browser.kill()
    again = await visitor.open()
    assert await visitor.is_logged_in(again)
    await again.close()


async def test_session_cookies_are_kept_for_the_owners_eyes_alone(visitor: Visitor) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    await browser.barrier()
    kept = visitor.profile.session_cookies
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert [entry.name for entry in kept.parent.glob(".session-cookies*")] == []
    await browser.close()


async def test_a_frozen_browser_does_not_hold_a_barrier_for_ever(visitor: Visitor) -> None:
    browser = await visitor.open()
    processes.end(browser.process, signal.SIGSTOP)
    with pytest.raises(Exception, match="did not answer"):
        await browser.barrier(seconds=1)
    await browser.kill()


async def test_a_session_cookie_that_cannot_be_set_again_is_named_and_stops_no_other(visitor: Visitor) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    await browser.close()
    kept = visitor.profile.load_session_cookies()
    visitor.profile.save_session_cookies([{**kept[0], "name": "bad", "domain": ""}, *kept])
    again = await visitor.open()
    assert again.preparation.refused_cookies == ("bad",)
    assert await visitor.cookies(again) == BOTH
    await again.close()


async def test_pages_may_not_queue_requests_for_a_later_browser(visitor: Visitor) -> None:
    browser = await visitor.open()
    page = await visitor.log_in(browser)
    asked = "navigator.permissions.query({name: 'background-sync'}).then(answer => answer.state)"
    assert await page.evaluate(asked) == "denied"
    await browser.close()


async def test_what_a_page_stored_before_a_clean_close_is_there(visitor: Visitor) -> None:
    browser = await visitor.open()
    page = await visitor.log_in(browser)
    await page.evaluate("localStorage.setItem('token', 'kept')")
    await page.reload()
    assert await browser.close() == "clean"
    again = await visitor.open()
    page = await again.new_page()
    await page.goto(visitor.shop)
    assert await page.evaluate("localStorage.getItem('token')") == "kept"
    await again.close()
