"""Handing over to the worker's own commands: this process becomes `python -m worker …`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def become(*words: str) -> NoReturn:
    """Replace this process. Its exit code is then the worker program's."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(sys.executable, [sys.executable, "-m", "worker", *words])  # noqa: S606 - no shell is wanted


def words(**given: str | list[str] | bool | None) -> list[str]:
    """Options as they were typed: `--name=value`, `--name` for a true flag, nothing for what was left out."""
    made: list[str] = []
    for name, value in given.items():
        option = f"--{name.strip('_').replace('_', '-')}"
        if value is True:
            made.append(option)
        elif isinstance(value, list):
            made.extend(f"{option}={item}" for item in value)
        elif value:
            made.append(f"{option}={value}")
    return made
