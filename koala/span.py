"""Spans of time as people read them."""

from __future__ import annotations

UNITS = (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1000))


def span(ms: int, units: int = 2) -> str:
    """A span in its largest units, `3 min 20 s`; below ten seconds with a tenth; never negative."""
    left = max(ms, 0)
    if left < 10_000:
        return f"{left / 1000:.1f} s"
    parts: list[str] = []
    for name, size in UNITS:
        number, left = divmod(left, size)
        if number or parts:
            parts.append(f"{number} {name}" if number else "")
    return " ".join(part for part in parts[:units] if part)
