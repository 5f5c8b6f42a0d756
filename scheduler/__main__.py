"""`python -m scheduler`: hands due tasks over, rescues lost attempts, keeps RQ and the task records in agreement."""

from __future__ import annotations

import argparse
import os
import sys

from koala import health, starts
from koala.exits import Exit
from koala.starts import Start


def _scheduler(start: Start) -> Exit:
    from scheduler import loop  # after the start is on record: what breaks an import counts as a failed start

    return loop.serve(start)


def _add_once(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", help="the schedule's name")
    parser.add_argument("--occurrence", default="", metavar="TIME", help="that one instead of the latest (ISO, Z)")
    parser.add_argument("--timeout", default=0.0, type=float, metavar="SECONDS", help="wait so long; 0: to the end")


def _once(given: argparse.Namespace) -> int:
    from koala.cli.failure import guarded  # the scheduler that stays does without the command line
    from scheduler.once import once

    return guarded(lambda: once(given.name, given.occurrence, given.timeout))


def main() -> int:
    """Run the scheduler until SIGTERM or SIGINT, say how it is, or run one occurrence of a schedule."""
    parser = argparse.ArgumentParser(prog="python -m scheduler", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("health", help="say whether the scheduler of this container is well; 1 when it is not")
    _add_once(commands.add_parser("once", help="run the due occurrence of a schedule to its end, for a timer"))
    given = parser.parse_args()
    if given.command == "once":
        return _once(given)
    return health.told() if given.command else starts.counted("scheduler", os.environ, _scheduler)


if __name__ == "__main__":
    sys.exit(main())
