"""The exit codes of this tool. What `koala` has too has the same number; this tool imports no third-party code."""

from enum import IntEnum


class Exit(IntEnum):
    """How a command ended; `koala exits` lists the meanings."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    REFUSED = 4
    WAITING = 6
    STORE_AWAY = 7
    ROLLED_BACK = 8
    ENGINE = 9
    DIVIDED = 10
    INTERRUPTED = 130


STOPPED = frozenset([0, 143])
"""A program that was asked to end: 0 after a drain, 143 after a signal, which has it come back with the engine."""
PERMANENT = range(64, 100)
"""A program that ends so is not helped by a restart: a person has to change something. What a signal did is above."""

MEANINGS = {
    64: "the store can lose or evict writes, or is too old",
    65: "the store's schema is newer than this image",
    66: "a setting or a secret is missing, malformed or readable by others",
    67: "the workflow modules cannot be loaded, or two claim one name and version",
    68: "the data volume is not the expected one, or cannot hold kernel locks",
    69: "no usable browser",
    70: "the store went back in time: a lock file knows a higher fence",
    137: "it was killed; a memory limit does that",
    143: "it was told to stop",
}


def meaning(code: int) -> str:
    """What a container's exit code says, after its number."""
    return f"{code}, {MEANINGS[code]}" if code in MEANINGS else str(code)
