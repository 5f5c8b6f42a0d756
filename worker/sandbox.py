"""Chromium's own sandbox: given up only by saying so."""

from __future__ import annotations

import os

from koala.errors import BrowserMissing


def refuse_as_root(wanted: bool) -> None:
    """Raise BrowserMissing when the sandbox is wanted and cannot be had: Chromium has none as root."""
    if wanted and os.geteuid() == 0:
        raise BrowserMissing(
            "as root Chromium has no sandbox: run the worker as another user, or set KOALA_BROWSER_SANDBOX=0"
        )
