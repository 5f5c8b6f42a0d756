"""The browsers: really launched, the way a slot does it, each with a page, and measured."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from koala.errors import BrowserMissing, KoalaError
from koala.exits import Exit
from koala.fence import Fence
from koala.settings import Settings
from worker import processes, profiles, volume
from worker.browser import BrowserFailed, BrowserOptions, Browsers, Driver, WarmShell, find_browsers, open_profile
from worker.browser.launch import first_line
from worker.commands.doctor.finding import Finding, fail, ok, warn
from worker.commands.doctor.sandbox import layered
from worker.processes import Process
from worker.volume import Volume

FENCE = Fence(1, 1)
RENDER_S = 20.0
PAGE = "data:text/html,<h1>koala</h1>"
INSTALL = "apt-get install chromium chromium-headless-shell"

Opened = AbstractAsyncContextManager[tuple[BrowserContext, Process]]


@dataclass
class Browsing:
    """What was seen of the browsers; None where it could not be."""

    findings: list[Finding] = field(default_factory=list)
    launched: bool = False
    layered: bool | None = None
    uses_shm: bool | None = None

    def look(self, browser: Process) -> int:
        """Note what a running browser shows; returns what it holds, in MB."""
        tree = processes.tree(browser)
        self.launched = True
        self.layered = layered([process.pid for process in tree])
        self.uses_shm = b"--disable-dev-shm-usage" not in Path(f"/proc/{browser.pid}/cmdline").read_bytes()
        return processes.memory_megabytes(tree)


def browse(config: Settings) -> Browsing:
    """Launch both browsers on throw-away directories."""
    seen = Browsing()
    try:
        found = find_browsers(config.chromium, config.headless_shell)
        asyncio.run(_browse(config, found, seen))
    except BrowserMissing as error:
        seen.findings.append(fail("browser", str(error), INSTALL, Exit.BROWSER))
    except KoalaError as error:
        seen.findings.append(fail("browser", str(error), "", error.exit))
    return seen


async def _browse(config: Settings, found: Browsers, seen: Browsing) -> None:
    sandbox = config.browser_sandbox and os.geteuid() != 0  # as root that is the sandbox's own finding
    with throw_away(config) as where:
        options = BrowserOptions(tmp=where.tmp, sandbox=sandbox, proxy=config.proxy or None)
        driver = await Driver.start(where, FENCE, tmp=where.tmp)
        try:
            seen.findings.append(ok("driver", "Playwright's driver starts under its lock"))
            for name, opened in starts(driver, where, found, options).items():
                await launched(name, seen, opened)
            if not found.shell:
                without = "not there: work without a profile uses the full browser, which is slower"
                seen.findings.append(warn("headless shell", without, "apt-get install chromium-headless-shell"))
        finally:
            await driver.stop(settled=True)


@contextmanager
def throw_away(config: Settings) -> Iterator[Volume]:
    """A volume for this only: on the data volume where there is one, else in the temporary directory."""
    data = config.data / "tmp"
    home = Path(tempfile.mkdtemp(prefix="koala-doctor-", dir=data if data.is_dir() else None))
    try:
        yield volume.create(home / "volume")
    finally:
        shutil.rmtree(home, ignore_errors=True)


def starts(driver: Driver, where: Volume, found: Browsers, options: BrowserOptions) -> Mapping[str, Opened]:
    """The browsers that slots use here, by name, each to be entered; a full one is always among them."""
    full = {"full browser": _full(driver, where, found, options)}
    return full | ({"headless shell": _shell(driver, found, options)} if found.shell else {})


@asynccontextmanager
async def _full(
    driver: Driver, where: Volume, found: Browsers, options: BrowserOptions
) -> AsyncIterator[tuple[BrowserContext, Process]]:
    """The full browser on a new profile."""
    profile = profiles.create(where, "doctor")
    browser = await open_profile(driver, profile, FENCE, found.for_profile(), options)
    try:
        yield browser.context, browser.process
    finally:
        await browser.close()


@asynccontextmanager
async def _shell(
    driver: Driver, found: Browsers, options: BrowserOptions
) -> AsyncIterator[tuple[BrowserContext, Process]]:
    """A context of the headless shell."""
    shell = WarmShell(driver, found.for_throw_away(), options)
    try:
        context = await shell.context(FENCE)
        if shell.process is None:
            raise BrowserFailed("the headless shell is gone again")
        yield context, shell.process
    finally:
        await shell.close(settled=True)


async def launched(name: str, seen: Browsing, browser: Opened, *, lives_s: float = 0) -> None:
    """Enter it, draw a page, and note how that went. A browser that dies within `lives_s` has failed."""
    began = time.monotonic()
    try:
        async with browser as (context, process):
            start = time.monotonic() - began
            render = await _render(context)
            megabytes = seen.look(process)
            await _outlive(process, began + lives_s)
    except BrowserMissing as error:
        seen.findings.append(fail(name, str(error), INSTALL, Exit.BROWSER))
    except (KoalaError, PlaywrightError, TimeoutError) as error:
        said = first_line(error) if isinstance(error, PlaywrightError) else str(error) or "it hung"
        remedy = "see there; `ldd` on the browser shows missing libraries, the sandbox has a line of its own"
        seen.findings.append(fail(name, said, remedy, Exit.BROWSER))
    else:
        took = f"starts in {start:.2f} s, renders a page in {render:.2f} s, holds {megabytes} MB"
        seen.findings.append(ok(name, took))


async def _outlive(process: Process, until: float) -> None:
    """Wait until then, and raise BrowserFailed when the browser has died meanwhile."""
    try:
        async with asyncio.timeout(until - time.monotonic()):
            await processes.ended(process)
    except TimeoutError:
        return
    raise BrowserFailed("it came up and died again")


async def _render(context: BrowserContext) -> float:
    """Seconds for a page with text, drawn. Raises TimeoutError, or BrowserFailed when nothing is drawn."""
    began = time.monotonic()
    async with asyncio.timeout(RENDER_S):
        page = await context.new_page()
        await page.goto(PAGE)
        box = await page.locator("h1").bounding_box()
        picture = await page.screenshot()
    if not box or box["width"] <= 0 or not picture:
        raise BrowserFailed("a page was opened, and nothing was drawn")
    return time.monotonic() - began
