"""Fonts for all scripts, and the world's time zones."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from worker.commands.doctor.finding import Finding, fail, ok, warn

SCRIPTS = {"latin": "en", "cyrillic": "ru", "arabic": "ar", "hebrew": "he", "hindi": "hi", "thai": "th", "cjk": "zh"}
FOLDERS = (Path("/usr/share/fonts"), Path("/usr/local/share/fonts"))


def fonts() -> Iterator[Finding]:
    """Pages show squares where a font is missing."""
    if shutil.which("fc-list") is None:
        some = any(folder.is_dir() and any(folder.rglob("*.[to]tf")) for folder in FOLDERS)
        yield (
            ok("fonts", "some are there; fc-list is not, so it is not known for which scripts")
            if some
            else fail("fonts", "none", "apt-get install fontconfig fonts-liberation fonts-noto")
        )
        return
    missing = [script for script, language in SCRIPTS.items() if not _fonts_for(language)]
    if "latin" in missing:
        yield fail("fonts", "none for Latin text", "apt-get install fonts-liberation")
    elif missing:
        yield warn(
            "fonts",
            f"none for {', '.join(missing)}",
            "apt-get install fonts-noto-core fonts-noto-cjk: pages show squares",
        )
    else:
        yield ok("fonts", "for all scripts")


def _fonts_for(language: str) -> bool:
    asked = subprocess.run(["fc-list", f":lang={language}"], capture_output=True, timeout=20, check=False)
    return bool(asked.stdout.strip())


def zones() -> Iterator[Finding]:
    """Browsers and schedules need the system's time zones."""
    try:
        ZoneInfo("Europe/Berlin")
    except ZoneInfoNotFoundError:
        yield fail("time zones", "not installed", "apt-get install tzdata")
        return
    if Path("/usr/share/zoneinfo/Europe/Berlin").exists():
        yield ok("time zones", "installed")
    else:
        yield warn("time zones", "only Python has them", "apt-get install tzdata: browsers show UTC")
