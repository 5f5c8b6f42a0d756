"""`python3 -m deploy COMMAND`: see each command's --help."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from deploy import backup, deploying, down, drain, interrupt, lock, logs, restore, scale, status, unfinished, up
from deploy.exits import Exit
from deploy.interrupt import Interrupted
from deploy.problem import Problem
from deploy.project import Project
from deploy.rollout import GOES_ON
from deploy.say import problem, say

Command = Callable[[Project, argparse.Namespace], Exit]


def _rollout(project: Project, given: argparse.Namespace) -> Exit:
    if given.back:
        return deploying.back(project)
    return deploying.rollout(project, given.tag)


COMMANDS: dict[str, tuple[str, Command]] = {
    "up": ("make what is missing, build, start, and print what runs where", lambda p, _: up.up(p)),
    "status": ("what runs where, and how the pool is", lambda p, _: status.status(p)),
    "logs": ("what the containers say", lambda p, g: logs.logs(p, g.service, g.tail, follow=g.follow)),
    "down": ("drain, then stop everything; the data stays", lambda p, _: down.down(p)),
    "scale": ("have so many workers; cuts nothing", lambda p, g: scale.scale(p, g.number)),
    "drain": ("let workers finish what they do and end", lambda p, g: drain.drain(p, g.worker)),
    "resume": ("bring drained workers back", lambda p, _: drain.resume(p)),
    "backup": ("store and profiles, while the pool runs", lambda p, g: backup.backup(p, g.to)),
    "restore": ("put a backup back; its tasks look before they act", lambda p, g: restore.restore(p, _wish(g))),
    "rollout": ("bring a new image in by batches, back by itself if it does not do", _rollout),
}
READING = frozenset(["status", "logs"])
"""Commands that change nothing, and so wait for nobody."""
ENDING = frozenset(["down", "drain", "restore"])
"""Commands that may be given while a restore is not complete: they start nothing before it is."""


def _wish(given: argparse.Namespace) -> restore.Wish:
    return restore.Wish(given.source, given.because, given.others_gone, given.keep_profiles, given.doubt_days)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(prog="python3 -m deploy", description="Runs the pool on one machine.")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    one = {name: commands.add_parser(name, help=text, description=text) for name, (text, _) in COMMANDS.items()}
    one["logs"].add_argument("service", nargs="?", default="", help="only this service")
    one["logs"].add_argument("--no-follow", dest="follow", action="store_false", help="end after what is there")
    one["logs"].add_argument("--tail", type=_count, default=100, help="lines of before, a container (100)")
    one["scale"].add_argument("number", type=_count, help="how many workers; 0 works")
    one["drain"].add_argument("worker", nargs="?", default="", help="one worker, or its container; default: all")
    one["backup"].add_argument("to", nargs="?", default="", help="below which directory (backups)")
    one["restore"].add_argument("source", nargs="?", default="", help="the backup's directory")
    one["restore"].add_argument("--because", default="", help="why; kept with the store")
    one["restore"].add_argument("--others-gone", default="", help="how you know that nothing runs on other machines")
    one["restore"].add_argument("--doubt-days", default="", help="how long new tasks look first, too (1)")
    one["restore"].add_argument("--keep-profiles", action="store_true", help="put back the store alone")
    which = one["rollout"].add_mutually_exclusive_group()
    which.add_argument("--tag", default="", help="an image that is here, instead of building one")
    which.add_argument("--back", action="store_true", help="to the image that ran before")
    one["rollout"].add_argument("--dry-run", action="store_true", help="print the plan, change nothing")
    return made


def run(project: Project, given: argparse.Namespace) -> Exit:
    """Run a command, under the pool's lock where it changes something. Raises Problem, Interrupted."""
    project.engine.check()
    if given.command == "rollout" and given.dry_run:
        if given.back:
            raise Problem("the plan is of the way forward only", "leave out DRY_RUN or BACK", Exit.USAGE)
        return deploying.planned(project, given.tag)
    command = COMMANDS[given.command][1]
    if given.command in READING:
        return command(project, given)
    with lock.held(project.lock, given.command) as held:
        project.engine.lent = (held,)
        if given.command not in ENDING:
            unfinished.refuse(project)
        project.adopt()
        return command(project, given)


def main(arguments: list[str]) -> int:
    """Run what is asked for; every failure is a line, what to do, and an exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 - the host's own Python may be older
        say("error: this needs Python 3.11 or newer\n   do: KOALA_PYTHON=python3.12 make …, with one that is here")
        return Exit.FAILED
    given = parser().parse_args(arguments)
    if given.command not in READING:
        interrupt.install()
    try:
        return run(Project.here(), given)
    except Problem as error:
        problem(error)
        return error.exit_code
    except (Interrupted, KeyboardInterrupt) as stopped:
        usual = GOES_ON if given.command == "rollout" else "give the command again to go on"
        say(f"stopped; {str(stopped) or usual}")
        return Exit.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
