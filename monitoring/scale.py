"""Prometheus' files with every duration multiplied: production's are minutes, a test's are seconds.

python -m monitoring.scale 0.02 monitoring/prometheus TO
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

DURATION = re.compile(
    r"(?P<before>\[|\boffset |\b(?:for|keep_firing_for|interval|\w+_interval|\w+_timeout): )"
    r"(?P<number>\d+)(?P<unit>ms|s|m|h|d)(?=[\]\s)]|$)",
    re.MULTILINE,
)
"""A range or an offset in an expression, or a field that holds a duration."""

SECONDS = re.compile(r"(?P<before>\bvector\()(?P<number>\d+)(?=\)  # seconds$)", re.MULTILINE)
"""A limit in seconds that an expression compares with: PromQL has no durations as numbers, so the line says so, with
no other word after it."""


def scaled(text: str, factor: float) -> str:
    """The text with its durations so much longer; with the factor 1 it is the same text."""
    if factor == 1:
        return text
    text = DURATION.sub(lambda found: found["before"] + _duration(found, factor), text)
    return SECONDS.sub(lambda found: f"{found['before']}{float(found['number']) * factor:g}", text)


def _duration(found: re.Match[str], factor: float) -> str:
    """At least a millisecond: Prometheus refuses nothing as a duration."""
    return f"{max(1, round(int(found['number']) * UNITS_MS[found['unit']] * factor))}ms"


def copy(factor: float, source: Path, target: Path) -> None:
    """Every .yml file below a folder, scaled, at the same place below another, which is made."""
    for file in sorted(source.rglob("*.yml")):
        copied = target / file.relative_to(source)
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_text(scaled(file.read_text("utf-8"), factor), "utf-8")


if __name__ == "__main__":
    copy(float(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))
