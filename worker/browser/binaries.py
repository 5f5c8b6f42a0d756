"""Which browsers this machine has: full Chromium for profiles, the faster headless shell for work without
one.

Both print the same `--version`; only the real path tells them apart.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from koala.errors import BrowserMissing
from worker.profiles import ProfileBinary

Kind = Literal["full", "shell"]

FULL = (
    "/usr/lib/chromium/chromium",
    "/usr/lib/chromium-browser/chromium-browser",
    "/opt/google/chrome/chrome",
)
SHELL = ("/usr/lib/chromium/chromium-headless-shell",)
"""The programs themselves: the scripts in /usr/bin add flags, or stay alive as a parent and keep the lock."""
SHELL_NAME = re.compile(r"headless[-_]shell")


@dataclass(frozen=True)
class Browsers:
    """What was found, as real paths."""

    full: Path | None
    shell: Path | None

    def for_profile(self) -> Path:
        """The full browser. Raises BrowserMissing."""
        if self.full is None:
            raise BrowserMissing("profiles need full Chromium and none was found: apt-get install chromium")
        return self.full

    def for_throw_away(self) -> Path:
        """The headless shell where there is one, else the full browser. Raises BrowserMissing."""
        found = self.shell or self.full
        if found is None:
            raise BrowserMissing("no browser was found: apt-get install chromium chromium-headless-shell")
        return found


def find_browsers(
    chromium: Path | None = None,
    headless_shell: Path | None = None,
    *,
    playwright_own: Iterable[Path] = (),
) -> Browsers:
    """The browsers of this machine: the given paths first, then Debian's, then Playwright's own downloads.

    Raises BrowserMissing when a given path is not a program, ProfileBinary when `chromium` is a headless
    shell.
    """
    if chromium is not None and kind_of(chromium) == "shell":
        raise ProfileBinary(f"{chromium} is a headless shell; profiles are opened with full Chromium only")
    own = [path for path in playwright_own if path.is_file()]
    full = chromium or _first(FULL, (p for p in own if kind_of(p) == "full"))
    shell = headless_shell or _first(SHELL, (p for p in own if kind_of(p) == "shell"))
    return Browsers(full and _program(full), shell and _program(shell))


def kind_of(path: Path) -> Kind:
    """Full browser or headless shell, by the real path's name."""
    return "shell" if SHELL_NAME.search(path.resolve().name) else "full"


def refuse_shell(path: Path) -> None:
    """Raise ProfileBinary for a headless shell: it locks no profile, and writes one that full Chromium
    cannot read.
    """
    if kind_of(path) == "shell":
        raise ProfileBinary(f"{path} is a headless shell; profiles are opened with full Chromium only")


@lru_cache
def major_version(path: Path) -> int:
    """The Chromium major version of a program; asked once a process. Raises BrowserMissing."""
    try:
        text = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=20, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise BrowserMissing(f"{path} does not say its version ({error}): reinstall it") from None
    found = re.search(r"(\d+)\.\d+\.\d+", text)
    if found is None:
        raise BrowserMissing(f"{path} says {text!r} for its version: is it Chromium?")
    return int(found.group(1))


def _first(paths: Iterable[str], others: Iterable[Path]) -> Path | None:
    candidates = [*(Path(path) for path in paths if Path(path).is_file()), *others]
    return candidates[0] if candidates else None


def _program(path: Path) -> Path:
    real = path.resolve()
    if not real.is_file():
        raise BrowserMissing(f"{path} is not a program: correct the setting, or remove it to use Debian's browser")
    return real
