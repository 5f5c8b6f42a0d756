"""The store's access list: a template in which each user's place is taken by the hashes of its passwords."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

TEMPLATE = Path(__file__).resolve().parents[1] / "redis" / "users.acl"
LIST = Path("redis/users.acl")
PASSWORD = "redis_password"  # noqa: S105 - a file's name
PLACE = re.compile(r"\bon <(\w+)>")
HASH = re.compile(r"#([0-9a-f]{64})")


def users(template: str) -> list[str]:
    """The users that have a password, in the template's order."""
    return PLACE.findall(template)


def digest(password: bytes) -> str:
    """What Redis keeps of a password."""
    return hashlib.sha256(password).hexdigest()


def render(template: str, hashes: dict[str, list[str]]) -> str:
    """The list itself. A user without a password is off: nobody gets in by that name."""

    def given(place: re.Match[str]) -> str:
        known = hashes.get(place[1], [])
        return " ".join(["on", *(f"#{hash_}" for hash_ in known)]) if known else "off"

    text = "\n".join(line for line in template.splitlines() if line and not line.startswith("#"))
    return PLACE.sub(given, text.replace("\n ", " ")) + "\n"


def known(text: str) -> dict[str, list[str]]:
    """The hashes that a list holds, by user."""
    lines = (line.split(maxsplit=2) for line in text.splitlines() if line.startswith("user "))
    return {line[1]: HASH.findall(line[2]) for line in lines}


def wanted(root: Path, former: dict[str, list[str]]) -> dict[str, list[str]]:
    """The hashes of the passwords that are there, then those of `former` ones that go on being taken."""
    found: dict[str, list[str]] = {}
    for user in users(TEMPLATE.read_text("utf-8")):
        file = root / user / PASSWORD
        password = file.read_bytes() if file.is_file() else b""
        if password:  # an empty one would let anybody in
            now = digest(password)
            found[user] = [now, *(hash_ for hash_ in former.get(user, []) if hash_ != now)]
    return found
