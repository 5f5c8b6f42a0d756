"""Every end is in its time: of a page that wants to stay, a frozen browser, a killed parent."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from koala.fence import Fence
from tests.support.renderers import renderer
from tests.support.visitor import Visitor
from tests.support.waiting import until
from worker import locks, processes
from worker.browser import BrowserFailed, BrowserOptions, Browsers, Driver, Recycling, WarmShell
from worker.locks import Gone
from worker.processes import Process
from worker.profiles import preferences

ROOT = Path(__file__).resolve().parents[2]
STAY = "<script>onbeforeunload = e => { e.preventDefault(); return 'stay' }</script><input id=i>"


async def test_a_page_that_asks_to_stay_does_not_hold_the_browser(visitor: Visitor) -> None:
    browser = await visitor.open()
    for page in (browser.context.pages[0], await browser.new_page()):
        await page.goto(visitor.shop)
        await page.set_content(STAY)
        await page.click("#i")  # such a page is heeded only after a gesture
        await page.keyboard.type("x")
        page.on("dialog", lambda dialog: dialog.dismiss())
    assert await browser.close(30) == "clean"
    assert visitor.profile.record().state == "clean"


@pytest.mark.parametrize("frozen", ["browser", "driver"])
async def test_a_frozen_process_is_killed_when_the_budget_is_spent(visitor: Visitor, frozen: str) -> None:
    browser = await visitor.open()
    await visitor.log_in(browser)
    family = processes.tree(browser.process)
    processes.end(browser.process if frozen == "browser" else visitor.driver.process, signal.SIGSTOP)
    began = time.monotonic()
    assert await browser.close(1) == "killed"
    assert 0.9 < time.monotonic() - began < 8  # the budget, and the kill; less than without one
    assert not any(processes.is_alive(process) for process in family)
    assert visitor.profile.record().state == "unclean"


async def test_after_a_crash_that_chromium_noted_the_next_good_end_is_clean(visitor: Visitor) -> None:
    """Chromium notes a crash a while after its start, and keeps it until a person has clicked it away."""
    browser = await visitor.open()
    await browser.close()
    browser = await visitor.open()
    await browser.kill()
    noted = json.loads(visitor.profile.preferences.read_bytes())
    noted["profile"]["exit_type"] = "Crashed"
    visitor.profile.preferences.write_text(json.dumps(noted))
    browser = await visitor.open()
    assert [page.url for page in browser.context.pages] == ["about:blank"], "and no tab of before"
    assert await browser.close() == "clean"
    assert visitor.profile.record().state == "clean"


async def test_a_young_browser_that_dies_as_it_closes_is_not_taken_for_clean(visitor: Visitor) -> None:
    """What an earlier one noted of its own end says nothing of this one's."""
    await (await visitor.open()).close()
    browser = await visitor.open()
    processes.end(browser.process)
    assert not preferences.ended_normally(visitor.profile.preferences)
    await browser.close()


async def test_a_browser_that_died_was_not_closed_cleanly(visitor: Visitor) -> None:
    browser = await visitor.open()
    processes.end(browser.process)
    await browser.gone()
    assert not browser.is_alive
    assert await browser.close() == "killed"
    assert visitor.profile.record().state == "unclean"
    with pytest.raises(BrowserFailed):
        await browser.new_page()


async def test_a_dead_renderer_is_told_and_costs_only_its_page(visitor: Visitor) -> None:
    browser = await visitor.open()
    page = await visitor.log_in(browser)
    crashed: asyncio.Queue[object] = asyncio.Queue()
    browser.on_crash(crashed.put_nowait)
    processes.end(await renderer(browser, page))
    async with asyncio.timeout(30):
        assert await crashed.get() is page
    assert await visitor.is_logged_in(browser)
    assert await browser.close() == "clean"


HOST = """
import asyncio, json, sys
from pathlib import Path
from koala.fence import Fence
from worker import profiles, volume
from worker.browser import *
async def main():
    where = volume.open_volume(Path(sys.argv[1]))
    options = BrowserOptions(tmp=where.tmp / "attempt", sandbox=sys.argv[2] == "sandboxed")
    driver = await Driver.start(where, Fence(1, 1), tmp=options.tmp)
    profile = profiles.create(where, "alice")
    browser = await open_profile(driver, profile, Fence(1, 1), find_browsers().for_profile(), options)
    await browser.new_page()
    print(json.dumps([driver.process, browser.process]), flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@pytest.mark.parametrize("frozen", [False, True])
def test_driver_browser_and_renderers_die_with_their_host(
    free_data: Path, options: BrowserOptions, record_property: pytest.RecordProperty, frozen: bool
) -> None:
    """Frozen ones cannot end by themselves: it is the kernel that ends them."""
    command = [sys.executable, "-c", HOST, str(free_data), "sandboxed" if options.sandbox else "open"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as host:
        assert host.stdout is not None
        driver, browser = (Process(*pair) for pair in json.loads(host.stdout.readline()))
        family = [driver, *processes.tree(browser)]
        assert len(family) > 5
        if frozen:
            processes.end(driver, signal.SIGSTOP)
            processes.end(browser, signal.SIGSTOP)
        began = time.monotonic()
        host.kill()
        until(lambda: not any(processes.is_alive(p) for p in family), "the end of all")
        record_property("seconds", round(time.monotonic() - began, 3))


@pytest.fixture
def free_data(options: BrowserOptions) -> Path:
    """The data directory, with nothing running on it."""
    return options.tmp.parents[1]


async def test_a_warm_browser_gives_fresh_contexts_and_is_replaced_when_due(
    driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    warm = WarmShell(driver, browsers.for_throw_away(), options, Recycling(jobs=2))
    first = await warm.context(Fence(1, 1))
    await first.add_cookies([{"name": "a", "value": "b", "url": "https://shop.test"}])
    one = warm.process
    assert await warm.give_back(first)
    second = await warm.context(Fence(1, 2))
    assert await second.cookies() == []
    assert warm.process == one
    assert await warm.give_back(second)
    assert warm.due() == "jobs"
    await warm.context(Fence(1, 3))
    assert warm.process != one
    assert one is not None
    assert not processes.is_alive(one)
    await warm.close(settled=True)


async def test_a_dead_warm_browser_is_replaced_and_its_lock_proves_it_gone(
    driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    warm = WarmShell(driver, browsers.for_throw_away(), options)
    await warm.context(Fence(1, 1))
    lock, process = warm.lock, warm.process
    assert lock is not None
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    await warm.context(Fence(1, 2))
    assert warm.lock != lock
    assert isinstance(locks.prove_gone(driver.volume, lock), Gone)
    await warm.close(settled=True)


async def test_a_frozen_warm_browser_is_killed_instead_of_given_back(
    driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    warm = WarmShell(driver, browsers.for_throw_away(), options)
    context = await warm.context(Fence(1, 1))
    process = warm.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    assert not await warm.give_back(context, 1)
    assert not processes.is_alive(process)
    assert warm.lock is None


async def test_a_stopped_driver_leaves_nothing(driver: Driver, browsers: Browsers, options: BrowserOptions) -> None:
    warm = WarmShell(driver, browsers.for_throw_away(), options)
    await warm.context(Fence(1, 1))
    family = [driver.process, *processes.tree(driver.process)]
    os.kill(driver.process.pid, signal.SIGSTOP)
    await driver.stop(0.5)
    assert not any(processes.is_alive(process) for process in family)
    assert isinstance(locks.prove_gone(driver.volume, driver.lock), Gone)


async def test_a_long_path_of_the_attempts_directory_does_not_stop_the_browser(visitor: Visitor) -> None:
    """Chromium makes a socket in it, whose path has 107 bytes at most."""
    deep = visitor.options.tmp / ("x" * 120)
    deep.mkdir()
    visitor.options = BrowserOptions(tmp=deep, sandbox=visitor.options.sandbox)
    browser = await visitor.open()
    assert list(deep.glob("*Chromium*"))
    assert await browser.close() == "clean"


async def test_throw_away_profiles_lie_in_the_attempts_directory(
    driver: Driver, browsers: Browsers, options: BrowserOptions
) -> None:
    warm = WarmShell(driver, browsers.for_throw_away(), options)
    await warm.context(Fence(1, 1))
    assert list(options.tmp.glob("playwright_chromium*"))
    await warm.close(settled=True)
