"""Take a lock, then become the browser or the driver: the lock lives exactly as long as that process.

Runs as `python -I -S wrapper.py browser|driver ARGS…`; the rest comes by the variables below, which hold
paths, numbers and ids, never a secret. A refusal ends with code 97 and its reason as JSON in
KOALA_REFUSAL_FILE.
"""

from __future__ import annotations

import json
import os
import sys
from typing import NoReturn

if __name__ == "__main__":
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from worker.wrappers import lockfile, proc

REFUSED = 97
"""Exit code of a wrapper that did not become its program."""

PYTHON = "KOALA_WRAPPER_PYTHON"  # the interpreter that runs this file; Debian's when unset
BINARY = "KOALA_WRAPPER_BINARY"  # the program to become
PARENT = "KOALA_WRAPPER_PARENT"  # pid that must still be our parent once the parent-death signal is set
LOCK = "KOALA_WRAPPER_LOCK"  # the lock file, which must exist
FENCE = "KOALA_WRAPPER_FENCE"  # epoch.counter of the attempt
MACHINE = "KOALA_WRAPPER_MACHINE"  # the machine's id, to be written into the lock file
REFUSAL_FILE = "KOALA_REFUSAL_FILE"  # where a refusal is explained

FIRST_FREE_DESCRIPTOR = {"browser": 5, "driver": 3}
"""0 to 4 carry Playwright's pipe to the browser, 0 to 2 the one to the driver; nothing else may pass."""

IN_PROCESS_NETWORK = "NetworkServiceInProcess2"
"""A network process of its own would outlive the lock's holder for a moment, with requests in its hands."""


class Refusal(Exception):
    """Why the wrapper does not become its program."""

    def __init__(self, reason: str, text: str, holder: object = None) -> None:
        super().__init__(text)
        self.report = {"reason": reason, "text": text, "holder": holder}


def main() -> NoReturn:
    """Become the program or exit with REFUSED; never returns."""
    role, arguments = sys.argv[1], sys.argv[2:]
    try:
        become(role, arguments)
    except Refusal as refusal:
        explain(refusal.report)
    except Exception as error:  # noqa: BLE001 - nobody above us would see it
        explain({"reason": "error", "text": f"{type(error).__name__}: {error}", "holder": None})
    os._exit(REFUSED)


def become(role: str, arguments: list[str]) -> NoReturn:
    """Lock, name ourselves, tie our life to the parent's, and exec. Raises Refusal."""
    os.closerange(FIRST_FREE_DESCRIPTOR[role], 65536)
    tie_to_parent()
    binary = os.environ[BINARY]
    descriptor = take(role, binary)
    os.set_inheritable(descriptor, True)
    environment = program_environment()
    if role == "browser":
        arguments = with_network_in_process(arguments)
        environment["TMPDIR"] = short_directory(environment["TMPDIR"])
    os.execve(binary, [binary, *arguments], environment)


def tie_to_parent() -> None:
    if not proc.set_parent_death_signal(int(os.environ[PARENT])):
        raise Refusal("orphan", f"the parent {os.environ[PARENT]} is gone, so nobody would end this process")


def take(role: str, binary: str) -> int:
    """The locked descriptor, with our name in the file. Raises Refusal."""
    path, fence = os.environ[LOCK], os.environ[FENCE]
    descriptor = lockfile.open_existing(path)
    if descriptor is None:
        raise Refusal("missing", f"there is no lock file {path}: is the data volume mounted?")
    content = read(descriptor, path)
    if not lockfile.lock_patiently(descriptor):
        raise Refusal("held", "another process holds the lock", content.get("holder"))
    if not lockfile.is_at(descriptor, path):
        raise Refusal("missing", f"the lock file {path} was removed meanwhile")
    content = read(descriptor, path)
    if lockfile.order(content["fence"]) > lockfile.order(fence):
        raise Refusal("fence", f"it knows fence {content['fence']}, ours is {fence}", content.get("holder"))
    end_leftovers(content)
    name_us(descriptor, content, role, binary)
    return descriptor


def read(descriptor: int, path: str) -> lockfile.Content:
    try:
        return lockfile.read(descriptor)
    except lockfile.Damaged as error:
        raise Refusal("damaged", f"the lock file {path} is damaged: {error}") from None


def end_leftovers(content: lockfile.Content) -> None:
    try:
        lockfile.end_leftovers(content.get("browser"))
    except lockfile.Leftover as error:
        last = content.get("browser")
        raise Refusal("leftover", f"processes {error} of the last browser cannot be ended", last) from None


def name_us(descriptor: int, content: lockfile.Content, role: str, binary: str) -> None:
    us = lockfile.this_process(role, os.environ[FENCE], os.environ[MACHINE])
    content.update(fence=os.environ[FENCE], holder=us)
    if role == "browser":
        content["browser"] = {**us, "binary": binary}
    lockfile.write(descriptor, content)


def with_network_in_process(arguments: list[str]) -> list[str]:
    """One `--enable-features` in place of all: Chromium heeds only the last one."""
    flag = "--enable-features="
    lists = [argument.removeprefix(flag) for argument in arguments if argument.startswith(flag)]
    features = dict.fromkeys([*",".join(lists).split(","), IN_PROCESS_NETWORK])
    others = [argument for argument in arguments if not argument.startswith(flag)]
    return [flag + ",".join(name for name in features if name), *others]


def program_environment() -> dict[str, str]:
    """Ours without the words meant for this wrapper only."""
    ours = {PYTHON, BINARY, PARENT, LOCK, FENCE, MACHINE, REFUSAL_FILE}
    return {name: value for name, value in os.environ.items() if name not in ours}


def short_directory(path: str) -> str:
    """The same directory by a short name: Chromium makes a socket there, whose path has 107 bytes at most."""
    os.chdir(path)
    return "/proc/self/cwd"


def explain(report: dict[str, object]) -> None:
    """Leave the reason where the attempt looks for it, and on stderr for people."""
    print(f"refused: {report['text']}", file=sys.stderr, flush=True)
    if path := os.environ.get(REFUSAL_FILE):
        with open(path, "w", encoding="utf-8") as file:
            json.dump(report, file)


if __name__ == "__main__":
    main()
