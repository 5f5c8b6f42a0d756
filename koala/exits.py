"""The exit codes of every Koala program, in one table.

A service manager must not restart a program that ended for a permanent reason: those codes are in `PERMANENT`.
"""

from enum import IntEnum
from typing import Self


class Exit(IntEnum):
    """A program's exit code, and what it means."""

    meaning: str

    def __new__(cls, code: int, meaning: str = "") -> Self:
        """A code with its meaning."""
        made = int.__new__(cls, code)
        made._value_, made.meaning = code, meaning
        return made

    OK = 0, "it did what was asked"
    FAILED = 1, "something went wrong that a second try may mend"
    USAGE = 2, "wrong arguments; nothing was done"
    NOT_FOUND = 3, "the task, review, profile, worker, schedule or workflow named does not exist"
    REFUSED = 4, "the request is understood and not allowed in this state; the text says why"
    TASK_FAILED = 5, "`--wait`: the task ended, but not as done"
    WAITING = 6, "`--wait`: the time ran out, or the task waits for a person"
    STORE_AWAY = 7, "the store does not answer"
    ROLLED_BACK = 8, "`make deploy`: the new image did not do, the old one runs again"
    ENGINE = 9, "Docker or its Compose plugin is missing, too old, does not run or is not allowed"
    DIVIDED = 10, "`make deploy`: the way back stopped too; two images may run side by side"
    UNTOLD = 11, "standard output cannot be written; standard error says what was done all the same"
    STORE_UNSAFE = 64, "the store can lose or evict writes, or is too old"
    STORE_NEWER = 65, "the store's schema is newer than this program"
    SETTINGS = 66, "a setting or a secret is missing, malformed or readable by others"
    WORKFLOWS = 67, "the workflow modules cannot be loaded, or two claim one name and version"
    VOLUME = 68, "the data directory is not the expected volume, or cannot hold kernel locks"
    BROWSER = 69, "no usable browser"
    WENT_BACK = 70, "the store went back in time: a lock file knows a higher fence"


INTERRUPTED = 130
"""Ctrl-C, as shells count it. No end that a program chooses, so not one of the table."""
INTERRUPTED_MEANS = "Ctrl-C; what was accepted goes on"

PERMANENT = frozenset(code for code in Exit if code >= Exit.STORE_UNSAFE)
"""Codes after which a restart cannot help until a person has changed something."""
