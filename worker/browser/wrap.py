"""What the wrappers are told, and what they say when they refuse."""

from __future__ import annotations

import json
import os
import sys
import uuid
from dataclasses import dataclass
from pathlib import Path

import worker.wrappers
from koala.errors import KoalaError
from koala.fence import Fence
from worker.browser.errors import BrowserFailed
from worker.locks import Holder, LockDamaged, LockHeld, LockMissing, LowerFence
from worker.volume import Volume
from worker.wrappers import wrapper

HERE = Path(worker.wrappers.__file__).parent
BROWSER = HERE / "browser"
DRIVER = HERE / "driver"

PASSED = frozenset(
    ["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "DISPLAY", "XAUTHORITY", "WAYLAND_DISPLAY", "FONTCONFIG_PATH"]
)
"""Variables a browser is given besides LC_* and XDG_*: pages' crashes and dumps must not carry ours."""


@dataclass(frozen=True)
class Wrap:
    """One run of a wrapper: the program to become, its parent, its lock and where it says no."""

    binary: Path
    parent: int
    lock: Path
    fence: Fence
    machine: str
    refusal: Path

    @classmethod
    def of(cls, volume: Volume, binary: Path, parent: int, lock: Path, fence: Fence, tmp: Path) -> Wrap:
        return cls(binary, parent, lock, fence, volume.machine, tmp / f"refusal-{uuid.uuid4().hex}.json")

    def variables(self) -> dict[str, str]:
        """The wrapper's variables: paths, numbers and ids."""
        return {
            wrapper.PYTHON: getattr(sys, "_base_executable", sys.executable),
            wrapper.BINARY: str(self.binary),
            wrapper.PARENT: str(self.parent),
            wrapper.LOCK: str(self.lock),
            wrapper.FENCE: str(self.fence),
            wrapper.MACHINE: self.machine,
            wrapper.REFUSAL_FILE: str(self.refusal),
        }

    def refused(self) -> KoalaError | None:
        """The wrapper's refusal as an error; None when it did not refuse."""
        try:
            report = json.loads(self.refusal.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        text = f"{self.lock.name}: {report['text']}"
        holder = None if report["holder"] is None else Holder.read(report["holder"])
        match report["reason"]:
            case "held" | "leftover":
                return LockHeld(f"{text} ({holder})" if holder else text, holder)
            case "fence":
                return LowerFence(text)
            case "missing":
                return LockMissing(text)
            case "damaged":
                return LockDamaged(text)
        return BrowserFailed(text)


def browser_environment(wrap: Wrap, tmp: Path) -> dict[str, str]:
    """The whole environment of a browser: a short list of ours, its own TMPDIR, and the wrapper's
    variables.
    """
    ours = {n: v for n, v in os.environ.items() if n in PASSED or n.startswith(("LC_", "XDG_"))}
    return {**ours, "TMPDIR": str(tmp), **wrap.variables()}
