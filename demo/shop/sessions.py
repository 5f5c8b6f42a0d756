"""Who is logged in, proved by two cookies: one that ends with the browser's session, one that stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from demo.shop.journal import Journal
from demo.shop.seal import Seal


@dataclass(slots=True)
class Login:
    """One login of a user. `serial` counts the values its remember cookie has had."""

    number: int
    user: str
    serial: int = 1
    previous_until: float = 0.0  # wall time: the value before is good until then
    ended: bool = False


class Sessions:
    """The logins of the shop, kept in files: they survive a restart and a kill.

    `logins.jsonl` has one line a login, for whoever counts how often a login had to be repeated.
    `sessions.jsonl` has what happened to them afterwards: rotations of the cookie, and the end.
    """

    def __init__(self, directory: Path, now: Callable[[], float] = time.time) -> None:
        self._seal = Seal.kept_in(directory / "cookie.key")
        self._opened = Journal(directory / "logins.jsonl")
        self._changed = Journal(directory / "sessions.jsonl")
        self._now = now
        self._logins: dict[int, Login] = {}

    def open_for_writing(self) -> None:
        """Take the files and read back who is logged in; BlockingIOError when another process has them."""
        self._opened.open_for_writing()
        self._changed.open_for_writing()
        for record in self._opened.records()[0]:
            self._logins[record["login"]] = Login(record["login"], record["user"])
        for record in self._changed.records()[0]:
            self._apply(**record)

    def count(self) -> int:
        """How many logins there have ever been."""
        return len(self._logins)

    def login(self, user: str) -> Login:
        """A new login; durable when this returns."""
        login = Login(len(self._logins) + 1, user)
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._opened.append({"login": login.number, "user": user, "at": at})
        self._logins[login.number] = login
        return login

    def session_cookie(self, login: Login) -> str:
        """The value of the cookie that ends with the browser's session."""
        return self._seal.close("session", f"{login.number}.0")

    def remember_cookie(self, login: Login) -> str:
        """The present value of the cookie that stays."""
        return self._seal.close("remember", f"{login.number}.{login.serial}")

    def by_session(self, cookie: str) -> Login | None:
        """The login that a session cookie belongs to, None when it is void."""
        login, _ = self._read("session", cookie)
        return login

    def by_remember(self, cookie: str) -> Login | None:
        """The login that a remember cookie belongs to, None when it is void or rotated away."""
        login, serial = self._read("remember", cookie)
        if login is None or serial == login.serial:
            return login
        return login if self._in_grace(login, serial) else None

    def rotate(self, cookie: str, grace_s: float) -> str:
        """The value that a remember cookie has from now on; the one before stays good for the grace.

        Who still comes with the value before gets the present one again: two tabs may be open. A void cookie
        stays what it is.
        """
        login, serial = self._read("remember", cookie)
        if login is None:
            return cookie
        if serial == login.serial:
            self._change(login=login.number, serial=serial + 1, previous_until=self._now() + grace_s)
        return self.remember_cookie(login)

    def end(self, login: Login, why: str) -> None:
        """Void both cookies of a login; durable when this returns."""
        self._change(login=login.number, ended=why)

    def drop(self, user: str | None = None) -> int:
        """End every login of the user, of everybody when None; returns how many there were."""
        live = [x for x in self._logins.values() if not x.ended and user in (None, x.user)]
        for login in live:
            self.end(login, "dropped by the shop")
        return len(live)

    def _read(self, purpose: str, cookie: str) -> tuple[Login | None, int]:
        text = self._seal.open(purpose, cookie)
        if text is None:
            return None, 0
        number, serial = text.split(".")
        login = self._logins.get(int(number))
        return (None, 0) if login is None or login.ended else (login, int(serial))

    def _in_grace(self, login: Login, serial: int) -> bool:
        return serial == login.serial - 1 and self._now() < login.previous_until

    def _change(self, **change: object) -> None:
        self._changed.append(change)
        self._apply(**change)  # type: ignore[arg-type]

    def _apply(self, login: int, serial: int = 0, previous_until: float = 0.0, ended: str = "") -> None:
        found = self._logins[login]
        if ended:
            found.ended = True
        else:
            found.serial, found.previous_until = serial, previous_until
