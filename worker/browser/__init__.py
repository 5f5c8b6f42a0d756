"""Browsers of a slot, always under a kernel lock; every question to Playwright has a time limit."""

from worker.browser.binaries import Browsers, find_browsers, kind_of, major_version
from worker.browser.driver import Driver
from worker.browser.errors import BrowserFailed, BrowserHung
from worker.browser.options import BrowserOptions
from worker.browser.profile import Ending, ProfileBrowser, open_profile
from worker.browser.warm import Recycling, WarmShell

__all__ = [
    "BrowserFailed",
    "BrowserHung",
    "BrowserOptions",
    "Browsers",
    "Driver",
    "Ending",
    "ProfileBrowser",
    "Recycling",
    "WarmShell",
    "find_browsers",
    "kind_of",
    "major_version",
    "open_profile",
]
