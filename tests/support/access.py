"""The store's real access list, for servers of tests: its users with known passwords, and tests free to do anything."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]


def _maker() -> ModuleType:
    """The module with which `secrets` makes the list; its folder is no package."""
    spec = importlib.util.spec_from_file_location("koala_access", ROOT / "container" / "secrets" / "access.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


maker = _maker()
TEMPLATE: str = maker.TEMPLATE.read_text("utf-8")
USERS: list[str] = maker.users(TEMPLATE)


def password(user: str) -> str:
    """That of a user in tests."""
    return f"password-of-{user}"


def users(*, open_to_tests: bool = True) -> str:
    """The list. With `open_to_tests` whoever gives no name may do everything."""
    text: str = maker.render(TEMPLATE, {user: [maker.digest(password(user).encode())] for user in USERS})
    closed = next(line for line in text.splitlines() if line.startswith("user default "))
    return text.replace(closed, "user default on nopass ~* &* +@all") if open_to_tests else text


def as_user(user: str) -> dict[str, str]:
    """The variables with which a program is that user."""
    return {"KOALA_REDIS_USER": user, "KOALA_REDIS_PASSWORD": password(user)}
