"""Makes the secrets that are missing, a file for each reader; run as root, in a container without a network.

make.py [make]            make what is missing, keep the rest, make the store's access list agree
make.py check             look only
make.py put READER/NAME   take a value from standard input: a new secret, or another value of one
make.py rotate USER...    another store password; the former one is taken as well until `retire`
make.py retire            take the present store passwords only
make.py mend              give every file the owner and the mode that its reader needs

What is there is never overwritten by `make`, and no value is printed. The directory is KOALA_SECRETS, /secrets.
Exit codes: 0 all is well, 2 wrong arguments, 66 something is wrong with a secret.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import access
import files

OK, USAGE, SECRETS = 0, 2, 66
MADE = ("worker", "scheduler", "operator", "exporter")
"""The users of the store that get a password; the others of the access list stay off until their programs exist."""
NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,99}", re.IGNORECASE)
LONGEST = 65536


def main(words: list[str]) -> int:
    """Do what the words say; the exit code."""
    command, rest = (words[0], words[1:]) if words else ("make", [])
    known: dict[str, Callable[[Path, list[str]], int]] = {
        "make": make,
        "check": check,
        "put": put,
        "rotate": rotate,
        "retire": retire,
        "mend": mend,
    }
    if command not in known or (rest and command not in ("put", "rotate")):
        return _usage(__doc__ or "")
    root = Path(os.environ.get("KOALA_SECRETS", "/secrets"))
    try:
        with _alone(root):
            return known[command](root, rest)
    except OSError as error:
        where = f" {error.filename}: mount the secrets there, and run this as root" if error.errno else ""
        _say("problem", str(root), f"{error.strerror or error}{where}")
        return SECRETS


def make(root: Path, words: list[str]) -> int:
    """What is missing, then a look at all."""
    for user in MADE:
        _new(root / user / access.PASSWORD, secrets.token_hex(32))
    _new(root / "grafana" / "admin_password", secrets.token_urlsafe(24))
    return _faults(root) or _agree(root)


def check(root: Path, words: list[str]) -> int:
    """Say of every file that should be there whether its reader can use it."""
    needed = [*(f"{user}/{access.PASSWORD}" for user in MADE), "grafana/admin_password", str(access.LIST)]
    missing = [name for name in needed if not os.path.lexists(root / name)]
    for name in missing:
        _say("problem", name, "is missing: run this without a word")
    return _faults(root) or (SECRETS if missing else _disagreement(root))


def _disagreement(root: Path) -> int:
    """Whether the access list takes the passwords that are there, and says what the template says."""
    text = (root / access.LIST).read_text("utf-8")
    listed = access.known(text)
    wanted = access.wanted(root, listed)
    shut = [user for user, hashes in wanted.items() if hashes[0] not in listed.get(user, [])]
    if shut:
        what = f"does not take the password of {', '.join(shut)}"
    elif text != access.render(access.TEMPLATE.read_text("utf-8"), wanted):
        what = "grants something else than this version wants"
    else:
        return OK
    _say("problem", str(access.LIST), f"{what}: run this without a word, then have Redis read it")
    return SECRETS


def _faults(root: Path) -> int:
    wrong = 0
    for path, owner in files.inside(root):
        if what := files.problem(path, owner, value=path != root / access.LIST):
            _say("problem", str(path.relative_to(root)), what)
            wrong += 1
    return SECRETS if wrong else OK


def put(root: Path, words: list[str]) -> int:
    """A value from standard input; one newline at its end is left out."""
    reader, _, name = words[0].partition("/") if len(words) == 1 else ("", "", "")
    if reader not in files.READERS or not NAME.fullmatch(name) or Path(reader, name) == access.LIST:
        return _usage(f"put READER/NAME < file, with a reader of: {', '.join(files.READERS)}\n")
    value = sys.stdin.buffer.read(LONGEST + 1).removesuffix(b"\n")
    if not value or value.endswith(b"\n") or len(value) > LONGEST:
        _say("problem", words[0], "nothing written: the value is empty, ends in newlines, or is longer than 64 KiB")
        return SECRETS
    path = root / reader / name
    files.folder(path.parent)
    again = path.exists()
    files.put(path, value, files.READERS[reader])
    _say("changed" if again else "made", words[0])
    return _agree(root)


def rotate(root: Path, words: list[str]) -> int:
    """Another password for some users of the store. Both are taken until `retire`."""
    if not words or not set(words) <= set(MADE):
        return _usage(f"rotate USER..., of: {', '.join(MADE)}\n")
    _agree(root, tell=False)  # so that what is taken now is in it, also after a change by hand
    for user in words:
        files.folder(root / user)
        files.put(root / user / access.PASSWORD, secrets.token_hex(32).encode(), files.READERS[user])
        _say("changed", f"{user}/{access.PASSWORD}")
    return _agree(root)


def retire(root: Path, words: list[str]) -> int:
    """Former passwords are refused from the next time on that Redis reads its list."""
    return _agree(root, keep=False)


def mend(root: Path, words: list[str]) -> int:
    """Owner and mode only: a value that others could read is still one that they may have read."""
    for path, owner in files.inside(root):
        if files.mend(path, owner):
            _say("mended", str(path.relative_to(root)))
    return check(root, words)


def _new(path: Path, value: str) -> None:
    files.folder(path.parent)
    there = os.path.lexists(path)
    if not there:
        files.put(path, value.encode(), files.READERS[path.parent.name])
    _say("kept" if there else "made", f"{path.parent.name}/{path.name}")


def _agree(root: Path, *, keep: bool = True, tell: bool = True) -> int:
    """Make the access list what template and passwords say; with `keep` it goes on taking former passwords."""
    path = root / access.LIST
    files.folder(path.parent)
    before = path.read_text("utf-8") if path.is_file() else ""
    former = access.known(before) if keep else {}
    hashes = access.wanted(root, former)
    after = access.render(access.TEMPLATE.read_text("utf-8"), hashes)
    if after != before:
        files.put(path, after.encode(), files.REDIS)
    two = [user for user, its in hashes.items() if len(its) > 1]
    if tell:
        _say("kept" if after == before else "changed" if before else "made", str(access.LIST), _takes(two))
    return OK


def _takes(two: list[str]) -> str:
    return f"former passwords of {', '.join(two)} are taken too, until `retire`" if two else ""


@contextmanager
def _alone(root: Path) -> Iterator[None]:
    """Nobody else makes secrets in this directory meanwhile."""
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _usage(text: str) -> int:
    sys.stderr.write(text)
    return USAGE


def _say(what: str, name: str, more: str = "") -> None:
    sys.stdout.write(f"{what:8}{name}{more and ': ' + more}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
