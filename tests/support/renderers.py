"""Which process draws a page, so that a test can do to it what the kernel does when memory is short."""

from __future__ import annotations

import psutil
from playwright.async_api import Page

from worker import processes
from worker.browser import ProfileBrowser
from worker.processes import Process

GROW = "window.ballast = new Uint8Array(64 << 20).fill(1), 0"


async def renderer(browser: ProfileBrowser, page: Page) -> Process:
    """The renderer process of a page that has loaded: the one that grows with it."""
    before = _sizes(browser)
    await page.evaluate(GROW)
    after = _sizes(browser)
    return max(after, key=lambda process: after[process] - before.get(process, after[process]))


def _sizes(browser: ProfileBrowser) -> dict[Process, int]:
    """Bytes in memory of each living renderer."""
    found = {}
    for process in processes.tree(browser.process):
        try:
            known = psutil.Process(process.pid)
            if "--type=renderer" in known.cmdline():
                found[process] = known.memory_info().rss
        except psutil.Error:  # gone meanwhile
            continue
    return found
