"""`python -m worker`: a worker with its slots. `slot` is what it starts itself."""

from __future__ import annotations

import argparse
import os
import sys

from koala import faults, logs, settings
from koala.errors import KoalaError
from koala.exits import Exit
from koala.settings import Settings
from koala.store import open_store
from koala.workflow import load
from worker import processes, slot, supervisor, volume
from worker.place import Place


def _slot(config: Settings, given: argparse.Namespace) -> Exit:
    processes.set_parent_death_signal(given.parent)
    logs.configure(config.log_format, config.log_level, program="worker", worker=given.worker, slot=given.number)
    faults.arm(config.faults, os.environ.get("KOALA_FAULTS_DIR", ""))
    place = Place(
        settings=config,
        store=open_store(config.redis_url, config.password),
        volume=volume.open_volume(config.data),
        registry=load(config.modules),
        worker=given.worker,
        slot=f"{given.worker}-{given.number}",
    )
    return slot.start(place)


def _worker(config: Settings) -> Exit:
    """Check everything that a restart cannot mend, once, before any slot starts."""
    logs.configure(config.log_format, config.log_level, program="worker")
    open_store(config.redis_url, config.password).close()
    volume.create(config.data)
    load(config.modules)
    return supervisor.start(config)


def main() -> Exit:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("slot", help="one slot; started by the worker itself")
    one.add_argument("--worker", required=True)
    one.add_argument("--number", type=int, required=True)
    one.add_argument("--parent", type=int, required=True)
    given = parser.parse_args()
    try:
        config = settings.load()
        return _slot(config, given) if given.command == "slot" else _worker(config)
    except KoalaError as error:
        print(f"error[{error.code}]: {error}", file=sys.stderr)
        return error.exit


if __name__ == "__main__":
    sys.exit(main())
