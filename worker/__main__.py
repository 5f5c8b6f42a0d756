"""`python -m worker`: a worker with its slots. `slot` is what it starts itself."""

from __future__ import annotations

import argparse
import os
import sys

from koala import faults, health, logs, settings, starts
from koala.errors import KoalaError
from koala.exits import Exit
from koala.starts import Start
from worker import commands as people


def _worker(start: Start) -> Exit:
    from worker import serving  # after the start is on record: what breaks an import counts as a failed start

    return serving.serve(start)


def _slot(given: argparse.Namespace) -> Exit:
    from koala.store.opening import opened
    from koala.workflow import load
    from worker import processes, slot, volume
    from worker.place import Place
    from worker.report import Report

    report = Report(given.report)
    try:
        processes.set_parent_death_signal(given.parent)
        config = settings.load()
        logs.configure(config.log_format, config.log_level, program="worker", worker=given.worker, slot=given.number)
        faults.arm(config.faults, os.environ.get("KOALA_FAULTS_DIR", ""))
        place = Place(
            settings=config,
            store=opened(config),
            volume=volume.open_volume(config.data),
            registry=load(config.modules),
            worker=given.worker,
            slot=f"{given.worker}-{given.number}",
            report=report,
        )
    except KoalaError as error:
        report.ends(f"[{error.code}] {error}")
        raise
    return slot.start(place)


def _init() -> Exit:
    """Give a new, empty data directory its mark."""
    from worker import volume

    where = volume.create(settings.load().data)
    print(f"{where.path} is the data volume {where.mark}")
    return Exit.OK


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("slot", help="one slot; started by the worker itself")
    one.add_argument("--worker", required=True)
    one.add_argument("--number", type=int, required=True)
    one.add_argument("--parent", type=int, required=True)
    one.add_argument("--report", type=int, help="the descriptor of the pipe to the worker")
    commands.add_parser("init", help="give a new, empty data directory its mark, once")
    commands.add_parser("health", help="say whether the worker of this container is well; 1 when it is not")
    for name, text in people.NAMES.items():
        commands.add_parser(name, help=text)
    return parser.parse_args()


def main() -> int:
    """Run what the arguments ask for."""
    if sys.argv[1:2] and sys.argv[1] in people.NAMES:
        return people.main(sys.argv[1:])
    given = _arguments()
    if not given.command:
        return starts.counted("worker", os.environ, _worker)
    try:
        if given.command == "slot":
            return _slot(given)
        return _init() if given.command == "init" else health.told()
    except KoalaError as error:
        print(f"error[{error.code}]: {error}", file=sys.stderr)
        return error.exit


if __name__ == "__main__":
    sys.exit(main())
