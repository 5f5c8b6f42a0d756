"""The launch check as whoever asks for it sees it: whether browsers come up here, with no task that could be at fault.

It runs in a process of its own, so that neither the supervisor nor a slot ever has Playwright in it.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala.errors import BrowserMissing
from koala.logs import log
from koala.settings import Settings
from worker import environment

LONGEST_S = 60.0
LOOK_S = 25.0
TRIES = 2
"""Before a worker's start is given up: a machine that has just booted is slow."""
INSTALL = "apt-get install chromium chromium-headless-shell, if a workflow opens pages"


@dataclass(frozen=True)
class Verdict:
    """What was seen. `fault` is why a browser that is there does not come up, `do` what helps; empty when all do."""

    there: bool
    fault: str = ""
    do: str = ""


def require(config: Settings) -> None:
    """Start each browser once. Raises BrowserMissing when one that is there does not come up; blocks until known.

    None at all is only warned of: there are pools that need none.
    """
    for tries in range(TRIES):
        verdict = _heard(_asked(config), LONGEST_S)
        if not verdict.fault:
            break
        log().warning("browser_not_launched", tries=tries + 1, fault=verdict.fault)
    if verdict.fault:
        raise BrowserMissing(". ".join(filter(None, [verdict.fault, verdict.do])))
    if not verdict.there:
        log().warning("no_browser", do=INSTALL)


async def look(config: Settings, seconds: float = LOOK_S) -> Verdict:
    """The same for a slot. Never raises; cancelled, it leaves nothing behind."""
    asked = _asked(config)  # spawned by this, the main thread: a parent's death is told to the thread that spawned
    try:
        return await asyncio.to_thread(_heard, asked, seconds)
    finally:
        asked.kill()


def _asked(config: Settings) -> subprocess.Popen[str]:
    tmp = config.data / "tmp"
    return subprocess.Popen(
        [sys.executable, "-m", "worker.commands.doctor.launch", str(os.getpid())],
        env=environment.for_child(os.environ, tmp if tmp.is_dir() else Path(tempfile.gettempdir()), config.proxy),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _heard(asked: subprocess.Popen[str], seconds: float) -> Verdict:
    try:
        said, complaint = asked.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        asked.kill()
        asked.communicate()
        return Verdict(True, f"the launch check did not end within {seconds:g} s", "is this machine too busy?")
    try:
        found: dict[str, Any] = json.loads(said)
    except ValueError:
        last = (complaint.strip().splitlines() or ["it said nothing"])[-1]
        return Verdict(True, f"the launch check ended with {asked.returncode}: {last}")
    return Verdict(found["there"], found["fault"] or "", found["do"] or "")
