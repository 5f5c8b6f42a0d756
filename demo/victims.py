"""The processes of one attempt, found below its slot by what they are."""

from __future__ import annotations

from enum import StrEnum

import psutil

from demo import processes
from demo.sight import Running


class Part(StrEnum):
    """What an attempt consists of below its slot."""

    RENDERER = "renderer"
    BROWSER = "browser"
    HOST = "browser host"
    DRIVER = "driver"


def find(part: Part, running: Running) -> psutil.Process | None:
    """The process of that part; None while the attempt has none (yet, or any more)."""
    below = processes.below(running.slot_pid)
    if part is Part.HOST:
        return next((one for one in below if "worker.host" in processes.arguments(one)), None)
    if part is Part.DRIVER:
        return next((one for one in below if "run-driver" in processes.arguments(one)), None)
    browser = next((one for one in below if _is_browser(processes.arguments(one), running.work.profile)), None)
    if part is Part.BROWSER or browser is None:
        return browser
    return _renderer(processes.below(browser.pid))


def _is_browser(arguments: list[str], profile: str) -> bool:
    """Whether it is the main process of the browser that has the profile open."""
    if any(argument.startswith("--type=") for argument in arguments):
        return False
    return any(argument.startswith("--user-data-dir=") and f"/{profile}/" in argument for argument in arguments)


def _renderer(below: list[psutil.Process]) -> psutil.Process | None:
    """The renderer of the page: of those that are not the browser's own windows or its reserve, the busiest."""
    return max((one for one in below if _is_renderer(processes.arguments(one))), key=_worked, default=None)


def _is_renderer(arguments: list[str]) -> bool:
    return "--type=renderer" in arguments and "--top-chrome-webui" not in arguments


def _worked(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return float(times.user + times.system)
