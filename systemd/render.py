"""Writes the unit files as the installed systemd understands them: render.py VERSION FROM TO

What that version does not know is left out and said, in the file as well; a specifier that it lacks is written out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

SINCE = {
    "FixedRandomDelay": 247,
    "LoadCredential": 247,
    "ProtectProc": 247,
    "RestartSteps": 254,
    "RestartMaxDelaySec": 254,
}
"""The version that brought a directive, of those that some machine may lack."""
OLDEST = SINCE["LoadCredential"]
"""Without it there is no safe way for a secret into a unit."""
SPECIFIERS = {"%d": (252, "/run/credentials/%n")}
"""The version that surely has a specifier, and what it stands for."""
ENDINGS = (".service", ".timer", ".conf")


def render(text: str, version: int) -> tuple[str, list[str]]:
    """A unit file for this version, and the directives that were left out."""
    left: list[str] = []
    lines = []
    for line in text.splitlines():
        name = line.partition("=")[0]
        if SINCE.get(name, 0) > version:
            left.append(name)
            line = f"# systemd {version} does not know this, {SINCE[name]} does: {line}"
        lines.append(_written_out(line, version))
    return "\n".join(lines) + "\n", left


def _written_out(line: str, version: int) -> str:
    for specifier, (since, meaning) in SPECIFIERS.items():
        if version < since and not line.startswith("#"):
            line = line.replace(specifier, meaning)
    return line


def units(folder: Path) -> Iterator[Path]:
    """Every unit file and drop-in, relative to the folder."""
    found = (path.relative_to(folder) for path in sorted(folder.rglob("*")) if path.suffix in ENDINGS)
    return (path for path in found if path.parent == Path() or path.parent.suffix == ".d")


def main(words: list[str]) -> int:
    """Render all; 1 for a systemd that is too old."""
    version, source, target = int(words[0]), Path(words[1]), Path(words[2])
    if version < OLDEST:
        sys.stderr.write(f"install: systemd {version} is too old: secrets need LoadCredential, of {OLDEST}\n")
        return 1
    for path in units(source):
        text, left = render((source / path).read_text("utf-8"), version)
        (target / path).parent.mkdir(exist_ok=True)
        (target / path).write_text(text, "utf-8")
        (target / path).chmod(0o644)
        told = f", without {', '.join(left)}, which systemd {version} does not know" if left else ""
        sys.stdout.write(f"install: {target / path}{told}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
