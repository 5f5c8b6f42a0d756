"""`python -m worker doctor`: whether Koala works on this machine, each fault with what to do about it.

Nothing of the pool is touched: the store is only read, browsers run on throw-away directories.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from rich.text import Text

from koala import settings
from koala.cli.output import data, out, say
from koala.cli.text import visible
from koala.errors import SettingsError
from koala.exits import Exit
from koala.settings import Settings
from worker.commands.doctor import configuration, disk, fonts, limits, sandbox, storage
from worker.commands.doctor.browser import browse
from worker.commands.doctor.finding import Check, Finding, State, fail, safely

STYLES = {State.OK: "green", State.WARN: "yellow", State.FAIL: "bold red"}


def add(commands: Any) -> None:
    """Add `doctor`."""
    commands.add_parser("doctor", help="check this machine").add_argument(
        "--json", action="store_true", dest="as_json", help="the findings as JSON"
    )


def run(given: argparse.Namespace) -> Exit:
    """Check everything, tell it, and end with the code of the first failure."""
    findings = []
    for finding in examine():
        findings.append(finding)
        if not given.as_json:
            _tell(finding)
    failed = [finding for finding in findings if finding.state is State.FAIL]
    if given.as_json:
        data({"ok": not failed, "checks": [finding.public() for finding in findings]})
    elif failed:
        say(f"{len(failed)} of {len(findings)} checks failed", style="red")
    return failed[0].exit if failed else Exit.OK


def examine() -> Iterator[Finding]:
    """All findings, as they are made. Without settings, those that need none."""
    for name, check in _of_the_machine().items():
        yield from safely(name, check)
    try:
        config = settings.load()
    except SettingsError as error:
        yield fail("settings", str(error), "correct them; what needs them was not checked", Exit.SETTINGS)
        return
    for name, check in _of_the_settings(config).items():
        yield from safely(name, check)
    yield from _of_the_browser(config)


def _of_the_machine() -> dict[str, Check]:
    return {
        "python": configuration.python,
        "kernel": limits.kernel,
        "clock": limits.clock,
        "time zones": fonts.zones,
        "fonts": fonts.fonts,
        "redis-server": storage.redis_server,
    }


def _of_the_settings(config: Settings) -> dict[str, Check]:
    return {
        "settings": lambda: configuration.settings(config),
        "secrets": lambda: configuration.secrets(config),
        "workflows": lambda: configuration.workflows(config),
        "store": lambda: storage.store(config),
        "volume": lambda: disk.data(config),
        "tmp": lambda: disk.temporary(config),
        "lock": lambda: disk.lock(config),
        "open files": lambda: limits.files(config),
        "processes": lambda: limits.pids(config),
        "memory": lambda: limits.memory(config),
    }


def _of_the_browser(config: Settings) -> Iterator[Finding]:
    seen = browse(config)
    yield from seen.findings
    yield from safely("sandbox", lambda: sandbox.sandbox(config, seen.launched, seen.layered))
    yield from safely("shared memory", lambda: limits.shared_memory(config, seen.uses_shm))


def _tell(finding: Finding) -> None:
    """One line, and what to do on the next."""
    line = Text.assemble(
        (f"{finding.state.value:5}", STYLES[finding.state]), f"{finding.name:18}", visible(finding.found)
    )
    out().print(line, soft_wrap=True)
    if finding.do:
        out().print(Text(f"{'':5}-> {visible(finding.do)}"), soft_wrap=True)
