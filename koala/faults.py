"""Named fault points. They do nothing unless a test sets KOALA_FAULTS_DIR and plans `point:action,…`.

The plan is KOALA_FAULTS, or of one task alone the file `plan-ID` in KOALA_FAULTS_DIR. Actions: `parent` and `child`
kill that process with SIGKILL, `freeze` stops the parent. Each fires once over all processes: a file in
KOALA_FAULTS_DIR says that it has. The child's pid is given by whoever started it.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

_plan: dict[str, str] = {}
_own: dict[str, str] = {}
_task = ""
_dir: Path | None = None
_child = 0


def arm(plan: str, directory: str) -> None:
    """Read a plan; an empty one disarms."""
    global _dir
    _plan.clear()
    _plan.update(_read(plan))
    _dir = Path(directory) if directory else None


def _read(plan: str) -> dict[str, str]:
    return dict(item.split(":", 1) for item in plan.strip().split(",") if item)


def about(task_id: str) -> None:
    """Tell which task this process works for from now on, and read the plan of that task if it has one."""
    global _task
    _own.clear()
    _task = task_id
    path = _dir / f"plan-{task_id}" if _dir else None
    if path and path.exists():
        _own.update(_read(path.read_text()))


def child_is(pid: int) -> None:
    """Tell which process the action `child` kills."""
    global _child
    _child = pid


def _first(directory: Path, point: str) -> bool:
    try:
        (directory / point).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def reach(point: str) -> None:
    """Carry out what the plan holds for this point, once."""
    own = _own.get(point)
    action = own or _plan.get(point)
    if not action or not _dir or not _first(_dir, f"{_task}.{point}" if own else point):
        return
    if action == "child":
        if _child:
            os.kill(_child, signal.SIGKILL)
    elif action == "freeze":
        os.kill(os.getpid(), signal.SIGSTOP)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
