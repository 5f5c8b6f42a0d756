"""`python -m worker`: a worker with its slots. `slot` is what it starts itself."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time

from koala import faults, ledger, logs, settings, slots
from koala.errors import KoalaError
from koala.exits import Exit
from koala.logs import log
from koala.settings import Settings
from koala.store import open_store
from koala.workflow import load
from worker import commands as people
from worker import locks, processes, sandbox, slot, supervisor, volume
from worker.place import Place
from worker.volume import Volume

LOCKS_KEPT_S = 3600.0
"""Free lock files of killed workers are removed at a start when they are older."""
TMP_KEPT_S = 86_400.0
"""Temporary directories too; longer, for a person who logs a profile in has one that no slot names."""


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
    for name in settings.unknown(os.environ):
        log().warning("unknown_setting", name=name)
    store = open_store(config.redis_url, config.password)
    where = volume.open_or_make(config.data)
    load(config.modules)
    _browsers(config)
    removed = locks.sweep(where, ledger.locks_in_use(store), LOCKS_KEPT_S)
    log().info("locks_swept", removed=len(removed))
    _sweep_tmp(where, {slot_["id"] for slot_ in slots.alive(store)})
    store.close()
    return supervisor.start(config, where)


def _browsers(config: Settings) -> None:
    """A browser that is named must be there, and its sandbox possible; having none is for pools that need none."""
    from worker.browser import find_browsers  # brings Playwright along, which slots have no use for

    found = find_browsers(config.chromium, config.headless_shell)
    if not found.full and not found.shell:
        log().warning("no_browser", do="apt-get install chromium chromium-headless-shell, if a workflow opens pages")
    else:
        sandbox.refuse_as_root(config.browser_sandbox)


def _sweep_tmp(where: Volume, alive: set[str]) -> None:
    """Remove what was left by workers that were killed whole; a living one sees to its slots itself."""
    limit = time.time() - TMP_KEPT_S
    for folder in where.tmp.iterdir():
        if folder.name not in alive and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)


def _init(config: Settings) -> Exit:
    """Give a new, empty data directory its mark."""
    where = volume.create(config.data)
    print(f"{where.path} is the data volume {where.mark}")
    return Exit.OK


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="python -m worker", description=__doc__)
    commands = parser.add_subparsers(dest="command")
    one = commands.add_parser("slot", help="one slot; started by the worker itself")
    one.add_argument("--worker", required=True)
    one.add_argument("--number", type=int, required=True)
    one.add_argument("--parent", type=int, required=True)
    commands.add_parser("init", help="give a new, empty data directory its mark, once")
    for name, text in people.NAMES.items():
        commands.add_parser(name, help=text)
    if sys.argv[1:2] and sys.argv[1] in people.NAMES:
        return people.main(sys.argv[1:])
    given = parser.parse_args()
    try:
        config = settings.load()
        if given.command == "init":
            return _init(config)
        return _slot(config, given) if given.command == "slot" else _worker(config)
    except KoalaError as error:
        print(f"error[{error.code}]: {error}", file=sys.stderr)
        return error.exit


if __name__ == "__main__":
    sys.exit(main())
