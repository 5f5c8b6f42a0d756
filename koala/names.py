"""The one rule for names that end up in paths and keys."""

import re

from koala.errors import InvalidName

PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


def check(kind: str, name: str) -> str:
    """Return `name` if it may name a `kind` (profile, workflow, …); raise InvalidName with the rule otherwise."""
    if PATTERN.fullmatch(name) and ".." not in name:
        return name
    raise InvalidName(
        f"{kind} name {name!r} is not allowed: use 1 to 64 of the characters A-Z a-z 0-9 . _ @ -, "
        "beginning with a letter or digit, without '..'"
    )
