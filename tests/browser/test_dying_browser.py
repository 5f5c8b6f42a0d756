"""A browser that dies in the middle of its start is noticed at once."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from koala.fence import Fence
from tests.support.browsers import dying_browser
from worker import processes
from worker.browser import BrowserFailed, BrowserOptions, Driver
from worker.browser.launch import Run
from worker.profiles import ProfileDirectory


async def test_also_when_playwright_waits_on(
    driver: Driver, profile: ProfileDirectory, options: BrowserOptions, tmp_path: Path
) -> None:
    """Playwright misses some deaths, by when they happen, and waits for its whole time."""
    browser = dying_browser(tmp_path, after_s=0.3)
    browser.dies()
    run = Run(driver, browser.path, profile.lock, Fence(1, 1), options)

    async def launch(arguments: dict[str, object]) -> None:
        started = await asyncio.create_subprocess_exec(
            str(arguments["executable_path"]),
            *("--headless", "--no-sandbox", f"--user-data-dir={profile.user_data}"),
            env={**arguments["env"], "KOALA_WRAPPER_PARENT": str(processes.this().pid)},  # type: ignore[dict-item]
        )
        await started.wait()
        await asyncio.Event().wait()

    began = time.monotonic()
    with pytest.raises(BrowserFailed, match="died while it started"):
        await run.start(launch)
    assert time.monotonic() - began < 10
