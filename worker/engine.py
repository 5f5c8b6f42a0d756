"""What a child keeps warm between attempts: its driver and its browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from koala.fence import Fence
from worker import sandbox
from worker.browser import BrowserOptions, Browsers, Driver, WarmShell
from worker.processes import Process
from worker.volume import Volume


@dataclass
class Engine:
    """What a child keeps warm between attempts: the driver, and the browser for work without a profile."""

    volume: Volume
    browsers: Callable[[], Browsers]
    options: BrowserOptions
    tell_lock: Callable[[str], None]
    """Tells the parent of a lock file of this child's life."""
    driver: Driver | None = None
    shell: WarmShell | None = None

    async def ready(self, fence: Fence) -> Driver:
        """The driver, started at the first need. Raises BrowserMissing, BrowserFailed."""
        sandbox.refuse_as_root(self.options.sandbox)
        if self.driver is None:
            self.driver = await Driver.start(self.volume, fence, tmp=self.options.tmp)
            self.tell_lock(self.driver.lock.name)
        return self.driver

    async def warm(self, fence: Fence) -> WarmShell:
        """The warm browser for contexts."""
        driver = await self.ready(fence)
        if self.shell is None:
            self.shell = WarmShell(driver, self.browsers().for_throw_away(), self.options)
        return self.shell

    def processes(self) -> list[Process]:
        """Browser and driver, for the watchdog."""
        found = [self.shell.process if self.shell else None, self.driver.process if self.driver else None]
        return [process for process in found if process]

    async def close(self) -> None:
        """End both, kindly. Only while no effect is open: their lock files go too."""
        if self.shell:
            await self.shell.close(settled=True)
        if self.driver:
            await self.driver.stop(settled=True)
