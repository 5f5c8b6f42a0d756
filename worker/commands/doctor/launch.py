"""The launch check itself, in a process of its own: starts each browser as slots do, and says how it went.

python -m worker.commands.doctor.launch PARENT_PID; one JSON object on standard output, see `worker.launchcheck`.
"""

from __future__ import annotations

import asyncio
import json
import sys

from koala import settings
from koala.errors import KoalaError
from koala.settings import Settings
from worker import processes
from worker import sandbox as wanted
from worker.browser import BrowserOptions, Browsers, Driver, find_browsers
from worker.commands.doctor import sandbox
from worker.commands.doctor.browser import FENCE, Browsing, launched, starts, throw_away
from worker.commands.doctor.finding import Finding, State
from worker.volume import Volume

LIVES_S = 1.5
"""A browser that dies within this time of its start is no browser to give work to."""


def check(config: Settings) -> dict[str, object]:
    """`there`: whether any browser is. `fault` and `do` of the first one that does not come up; empty when all do."""
    try:
        found = find_browsers(config.chromium, config.headless_shell)
        if not found.full and not found.shell:
            return {"there": False, "fault": "", "do": ""}
        wanted.refuse_as_root(config.browser_sandbox)
        fault = asyncio.run(_fault(config, found))
    except KoalaError as error:
        return {"there": True, "fault": str(error), "do": ""}
    return {"there": True, "fault": fault and f"{fault.name}: {fault.found}", "do": fault and fault.do}


async def _fault(config: Settings, found: Browsers) -> Finding | None:
    seen = Browsing()
    with throw_away(config) as where:
        options = BrowserOptions(tmp=where.tmp, sandbox=config.browser_sandbox, proxy=config.proxy or None)
        await _start(where, found, options, seen)
    findings = seen.findings
    if config.browser_sandbox and seen.layered is False:
        findings += sandbox.sandbox(config, seen.launched, seen.layered)
    return next((finding for finding in findings if finding.state is State.FAIL), None)


async def _start(where: Volume, found: Browsers, options: BrowserOptions, seen: Browsing) -> None:
    """All at once: a worker's start waits for it."""
    driver = await Driver.start(where, FENCE, tmp=where.tmp)
    try:
        named = starts(driver, where, found, options).items()
        usable = [(name, opened) for name, opened in named if found.full or name != "full browser"]
        await asyncio.gather(*(launched(name, seen, opened, lives_s=LIVES_S) for name, opened in usable))
    finally:
        await driver.stop(settled=True)


def main() -> None:
    """Check, and say it."""
    if processes.set_parent_death_signal(int(sys.argv[1])):
        sys.stdout.write(json.dumps(check(settings.load(redis_password=None))) + "\n")


if __name__ == "__main__":
    main()
