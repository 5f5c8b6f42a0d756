"""Named fault points. They do nothing unless a test sets KOALA_FAULTS to `point:action,…` with KOALA_FAULTS_DIR.

Actions: `parent` and `child` kill that process with SIGKILL, `freeze` stops the parent. Each fires once over all processes:
a file in KOALA_FAULTS_DIR says that it has. The child's pid is given by whoever started it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_plan: dict[str, str] = {}
_dir: Path | None = None
_child = 0


def arm(plan: str, directory: str) -> None:
    """Read a plan; an empty one disarms."""
    global _dir
    _plan.clear()
    _plan.update(dict(item.split(":", 1) for item in plan.split(",") if item))
    _dir = Path(directory) if directory else None


def child_is(pid: int) -> None:
    """Tell which process the action `child` kills."""
    global _child
    _child = pid


def _first(point: str) -> bool:
    assert _dir is not None
    try:
        (_dir / point).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def reach(point: str) -> None:
    """Carry out what the plan holds for this point, once."""
    action = _plan.get(point)
    if not action or not _dir or not _first(point):
        return
    if action == "child":
        if _child:
            os.kill(_child, signal.SIGKILL)
    elif action == "freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
