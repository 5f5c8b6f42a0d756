"""`python -m demo`: watch a pool do each piece of work once, while parts of it are killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.text import Text

from demo import plan, processes
from demo.pool import ROOT
from demo.stage import Stage
from demo.tables import render
from demo.view import View, console
from koala.errors import KoalaError

BUILD = ROOT / "build"
HOME = BUILD / "demo"
INTERRUPTED = 130

WELCOME = (
    f"Koala runs {plan.ROUNDS * len(plan.PROFILES)} orders in {len(plan.PROFILES)} logged-in browser profiles, and "
    f"{plan.NEWS} tasks without a profile, on {plan.WORKERS} workers of {plan.SLOTS} slots each. Meanwhile its parts "
    "are killed and frozen, in the middle of their work. The shop counts what really arrives."
)
AS_ROOT = "You are root, so the browsers run without Chromium's own sandbox (KOALA_BROWSER_SANDBOX=0)."


def main() -> int:
    """Run the demo: 0 when nothing was doubled, lost or logged out, 1 when something was, 130 when interrupted."""
    out = console()
    with alone() as free:
        if not free:
            out.print(f"A demo runs in {HOME} already: let it end first.")
            return 1
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, interrupt)
        processes.become_subreaper()
        clear()
        out.print(Text(WELCOME, "bold"))
        if os.geteuid() == 0:
            out.print(Text(AS_ROOT, "yellow"))
        return play(View(out))


def play(view: View) -> int:
    """One demo and its report."""
    try:
        report = Stage(HOME, view).run()
    except KeyboardInterrupt:
        view.say("interrupted; everything that was started has ended")
        return INTERRUPTED
    except (RuntimeError, KoalaError) as error:
        view.say(f"the demo could not run: {error}", "red")
        return 1
    where = HOME / "report.json"
    report.write(where)
    view.out.print(render(report, where.relative_to(ROOT)))
    return 0 if report.ok else 1


def interrupt(_number: int, _frame: FrameType | None) -> None:
    """SIGTERM and SIGHUP are an interruption like Ctrl-C."""
    raise KeyboardInterrupt


def clear() -> None:
    """A fresh directory; the one before is kept beside it. What an earlier demo left running is ended."""
    processes.kill_all(processes.leftovers(HOME))
    if HOME.exists():
        before = HOME.with_name("demo.previous")
        shutil.rmtree(before, ignore_errors=True)
        HOME.rename(before)
    HOME.mkdir(parents=True)


@contextmanager
def alone() -> Iterator[bool]:
    """Whether no other demo runs in this checkout; none begins while this lasts."""
    BUILD.mkdir(exist_ok=True)
    with (BUILD / "demo.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


if __name__ == "__main__":
    sys.exit(main())
