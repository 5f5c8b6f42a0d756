"""Settings, secrets, workflows, and the Python they run on."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from pathlib import Path

from koala import secret
from koala.errors import SettingsError
from koala.exits import Exit
from koala.settings import Settings, unknown
from koala.workflow import load
from worker.commands.doctor.finding import Finding, fail, ok, warn

OLDEST, NEWEST = (3, 11), (3, 13)


def python() -> Iterator[Finding]:
    """A Python that Koala is tested with."""
    found = f"Python {platform.python_version()}"
    supported = "use Python 3.11, 3.12 or 3.13"
    if sys.version_info[:2] < OLDEST:
        yield fail("python", found, supported)
    elif sys.version_info[:2] > NEWEST:
        yield warn("python", f"{found} is newer than what Koala is tested with", supported)
    else:
        yield ok("python", found)


def settings(config: Settings) -> Iterator[Finding]:
    """They could be read, else the doctor had said so before."""
    what = f"{config.slots} slots, data in {config.data}, leases of {config.lease_ttl_s:g} s"
    if config.faults:
        yield warn("settings", f"{what}; fault points are armed", "unset KOALA_FAULTS: it is for tests")
    else:
        yield ok("settings", what)
    for name in unknown(os.environ):
        yield warn("settings", f"{name} is no setting", "correct its name (docs/settings.md), or remove it")


def secrets(config: Settings) -> Iterator[Finding]:
    """Each mounted secret can be read by us and not by everyone."""
    folder = config.secrets_dir
    if folder is None:
        yield ok("secrets", "no secrets directory is set (KOALA_SECRETS_DIR)")
    elif not folder.is_dir():
        yield fail("secrets", f"{folder} is no directory", "correct KOALA_SECRETS_DIR", Exit.SETTINGS)
    else:
        yield _directory(folder)
        files = sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))
        faults = [fault for path in files if (fault := _secret(path))]
        yield from faults or [ok("secrets", f"{len(files)} in {folder}, readable by us only")]


def _directory(folder: Path) -> Finding:
    if folder.stat().st_mode & 0o002:
        return warn("secrets directory", f"everyone may write into {folder}", f"chmod o-w {folder}")
    return ok("secrets directory", f"only its owner writes into {folder}")


def _secret(path: Path) -> Finding | None:
    try:
        secret.read(path)
    except SettingsError as error:
        what, _, do = str(error).partition(": ")
        return fail("secrets", what, do or "see there", Exit.SETTINGS)
    return None


def workflows(config: Settings) -> Iterator[Finding]:
    """They load."""
    registry = load(config.modules)
    yield ok("workflows", f"{len(registry.runs)} of {config.workflows}: {', '.join(registry.runs)}"[:200])
