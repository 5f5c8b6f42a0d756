"""How a browser is started, and what is never passed to it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from worker.browser.errors import BrowserFailed

FIXED = (
    "--hide-crash-restore-bubble",
    "--disable-crashpad-for-testing",
)
NO_OTHER_WAY = (
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
)
"""WebRTC would go around a proxy. Full Chromium knows only the first of these names, the headless shell the other."""

ROOMY = 512 * 1024 * 1024
"""Bytes of /dev/shm from which on browsers use it; Docker's default of 64 MB makes them crash."""


def shared_memory_is_roomy() -> bool:
    """Whether browsers share memory in /dev/shm; otherwise in files of their TMPDIR, which is slower and
    written to disk.
    """
    try:
        room = os.statvfs("/dev/shm")  # noqa: S108 - the kernel's, not a file of ours
    except OSError:
        return False
    ours = os.access("/dev/shm", os.W_OK | os.X_OK)  # noqa: S108 - likewise
    return ours and room.f_frsize * room.f_blocks >= ROOMY


@dataclass(frozen=True)
class BrowserOptions:
    """What may differ between browsers. Locale, zone and viewport belong to the profile."""

    tmp: Path
    """TMPDIR of the browser; removed by whoever made it."""
    headed: bool = False
    sandbox: bool = True
    """Chromium's own sandbox; impossible as root."""
    proxy: str | None = None
    """URL without credentials. Nothing of the browser's goes around it: not to loopback names, not by WebRTC."""
    locale: str | None = None
    timezone: str | None = None
    viewport: tuple[int, int] | None = (1280, 800)
    args: tuple[str, ...] = ()
    downloads: Path | None = None
    launch_seconds: float = 30

    def __post_init__(self) -> None:
        if any(arg.startswith("--remote-debugging-") for arg in self.args):
            raise BrowserFailed("no debugging port or pipe besides Playwright's own: remove that argument")

    def launch(self) -> dict[str, Any]:
        """Arguments of Playwright's launch calls that both kinds of browser share."""
        return {
            "headless": not self.headed,
            "chromium_sandbox": self.sandbox,
            "args": [*FIXED, *(NO_OTHER_WAY if self.proxy else ()), *self.args],
            "ignore_default_args": ["--disable-dev-shm-usage"] if shared_memory_is_roomy() else None,
            "proxy": {"server": self.proxy, "bypass": "<-loopback>"} if self.proxy else None,
            "downloads_path": self.downloads,
            "handle_sigint": False,
            "handle_sigterm": False,
            "handle_sighup": False,
            "timeout": self.launch_seconds * 1000,
        }

    def context(self) -> dict[str, Any]:
        """Arguments of a context."""
        size = None if self.viewport is None else {"width": self.viewport[0], "height": self.viewport[1]}
        return {
            "locale": self.locale,
            "timezone_id": self.timezone,
            "viewport": size,
            "no_viewport": True if size is None else None,
            "accept_downloads": True,
        }
