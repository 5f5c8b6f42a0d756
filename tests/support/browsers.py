"""A real browser that dies when a test wants it to, and from then on a moment after each start."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

CHROMIUM = Path("/usr/lib/chromium")

SCRIPT = """#!/bin/sh
if [ "$1" != --version ]; then
  setsid "{killer}" $$ </dev/null >/dev/null 2>&1 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&- &
fi
exec {real} "$@"
"""

KILLER = """#!/bin/sh
while kill -0 $1; do
  if [ -e "{flag}" ]; then sleep {seconds}; kill -9 $1; fi
  sleep 0.1
done
"""


@dataclass(frozen=True)
class DyingBrowser:
    """`path` is the program. It lives like any other until `dies` is called."""

    path: Path
    flag: Path

    def dies(self) -> None:
        """From now on it ends by SIGKILL, also when it is started again."""
        self.flag.touch()

    def lives(self) -> None:
        """Each start is well again."""
        self.flag.unlink()


def dying_browser(folder: Path, *, name: str = "chromium", after_s: float = 1.0) -> DyingBrowser:
    """Debian's browser of that name in a wrapper of its own; it dies so long after its start, or after `dies`."""
    made, killer = DyingBrowser(folder / name, folder / "dies"), folder / "killer"
    made.path.write_text(SCRIPT.format(killer=killer, real=CHROMIUM / name))
    killer.write_text(KILLER.format(flag=made.flag, seconds=after_s))
    for program in (made.path, killer):
        program.chmod(0o755)
    return made
