"""Commands for a person at the machine. `koala` execs them here, for they need a browser or the data volume.

What they need besides is imported with the command: a slot starts without it.
"""

from __future__ import annotations

import argparse

NAMES = {
    "doctor": "check this machine: store, browser, limits, clock",
    "run": "run one workflow here, without the pool",
    "profile": "browser identities: login, import, export, list, delete, unlock",
    "backup": "store and profiles, while the pool runs",
    "restore": "put a backup back: check, profiles, declare",
}


def main(arguments: list[str]) -> int:
    """Run the command that the arguments name; returns its exit code. Faults end as one line."""
    from koala.cli.failure import INTERRUPTED, guarded
    from koala.cli.output import say
    from koala.cli.streams import prepare

    prepare()
    try:
        return guarded(lambda: _run(arguments))
    except KeyboardInterrupt:
        say("interrupted")
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    from koala import settings
    from worker.commands import backup, doctor, profile, restore, run

    parser = argparse.ArgumentParser(prog="python -m worker")
    commands = parser.add_subparsers(dest="command", required=True)
    by_name = {"run": run.run, "profile": profile.run, "backup": backup.run, "restore": restore.run}
    for command in (doctor, run, profile, backup, restore):
        command.add(commands)
    given = parser.parse_args(arguments)
    if given.command == "doctor":
        return doctor.run(given)
    return by_name[given.command](settings.load(), given)
