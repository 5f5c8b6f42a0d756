"""The file `.env`: Compose reads its variables there; this tool keeps in it what plain `docker compose` has to know."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

LINE = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*?)\s*$")


def read(path: Path) -> dict[str, str]:
    """Its variables; empty without the file. Quotes are taken off, nothing else is interpreted."""
    if not path.exists():
        return {}
    found = map(LINE.match, path.read_text("utf-8").splitlines())
    return {line[1]: _value(line[2]) for line in found if line}


def _value(text: str) -> str:
    if len(text) > 1 and text[0] in "\"'" and text.find(text[0], 1) > 0:
        return text[1 : text.find(text[0], 1)]
    return re.split(r"(?:^|\s)#", text, maxsplit=1)[0].strip()


def write(path: Path, values: Mapping[str, str | None]) -> None:
    """Set variables, or remove those that are None; every other line stays. Atomic; nothing when nothing changes."""
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    left = {name: value for name, value in values.items() if value is not None}
    kept: list[str] = []
    for line in lines:
        name = found[1] if (found := LINE.match(line)) else ""
        if name not in values:
            kept.append(line)
        elif name in left:
            kept.append(f"{name}={left.pop(name)}")
    made = [*kept, *(f"{name}={value}" for name, value in left.items())]
    if made != lines:
        _replace(path, "".join(f"{line}\n" for line in made))


def _replace(path: Path, text: str) -> None:
    """Atomically, with the mode and the owner that it had."""
    before = path.stat() if path.exists() else None
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".env-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, before.st_mode & 0o777 if before else 0o600)
        if before and os.geteuid() == 0:
            os.chown(name, before.st_uid, before.st_gid)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
