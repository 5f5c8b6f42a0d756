"""The limits of the container that we are in, of either version of cgroups."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

UNLIMITED = 2**50
"""The first version writes a number that no machine has for no limit."""
ROOT = Path("/")


def memory_limit(root: Path = ROOT) -> int | None:
    """Bytes that may be used at most by us and all beside us in the container; None without a limit."""
    return limit("memory.max", "memory", "memory.limit_in_bytes", root)


def process_limit(root: Path = ROOT) -> int | None:
    """Processes and threads, likewise."""
    return limit("pids.max", "pids", root=root)


def memory_used(root: Path = ROOT) -> int:
    """Bytes that are used, without cached files that the kernel drops when it needs room; 0 when it is not told."""
    used = _first("memory.current", "memory.usage_in_bytes", root)
    stat = _numbers(_first("memory.stat", "memory.stat", root))
    droppable = stat.get("total_inactive_file", stat.get("inactive_file", 0))
    return max(0, int(used) - droppable) if used.isdigit() else 0


def memory_full(root: Path = ROOT) -> tuple[int, int]:
    """How often memory was full, and how many processes the kernel killed for it, since the container's start."""
    events = _numbers(_first("memory.events", "memory.oom_control", root))
    hits = _first("", "memory.failcnt", root)
    return events.get("max", int(hits) if hits.isdigit() else 0), events.get("oom_kill", 0)


def _first(name: str, old_name: str, root: Path) -> str:
    """The text of the nearest file of that name, on our way up the tree of either version; empty without one."""
    mount = root / "sys/fs/cgroup"
    new = [folder / name for folder in _folders("", mount, root)] if name else []
    old = [folder / old_name for folder in _folders("memory", mount / "memory", root)]
    return next((text for text in map(_text, (*new, *old)) if text), "")


def _numbers(text: str) -> dict[str, int]:
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def limit(name: str, controller: str, old_name: str = "", root: Path = ROOT) -> int | None:
    """The smallest value of a limit on our way up the tree; None without one.

    A container often sees the path that the machine has for it, and its own files at the mount: both are looked at.
    """
    mount = root / "sys/fs/cgroup"
    values = [_value(folder / name) for folder in _folders("", mount, root)]
    values += [_value(folder / (old_name or name)) for folder in _folders(controller, mount / controller, root)]
    numbers = [value for value in values if value is not None and value < UNLIMITED]
    return min(numbers) if numbers else None


def _folders(controller: str, mount: Path, root: Path) -> Iterator[Path]:
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controller in controllers.split(","):
            here = mount / path.lstrip("/")
            yield from (folder for folder in (here, *here.parents) if folder.is_relative_to(mount))


def _value(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""
