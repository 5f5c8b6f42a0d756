"""Storage states: a browser's logins as one JSON file, in the form that Playwright writes."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from koala.errors import InvalidArguments
from koala.reading import text_of

MOST_ORIGINS = 300


class Item(BaseModel):
    """One entry of an origin's local storage."""

    name: str
    value: str


class Origin(BaseModel):
    """What one origin keeps. Other kinds of storage are passed on as they are."""

    model_config = ConfigDict(extra="allow")

    origin: str
    localStorage: list[Item] = []

    @property
    def beyond(self) -> bool:
        """Whether it keeps more than local storage."""
        return any((self.model_extra or {}).values())


class Cookie(BaseModel):
    """One cookie."""

    model_config = ConfigDict(extra="allow")

    name: str
    value: str
    domain: str
    path: str = "/"


class StorageState(BaseModel):
    """A whole state."""

    cookies: list[Cookie] = []
    origins: list[Origin] = []

    def plain(self) -> dict[str, Any]:
        """As Playwright takes it."""
        return self.model_dump()


def read(path: Path) -> StorageState:
    """The state in a file. Raises InvalidArguments saying what is wrong with it, never a value out of it."""
    try:
        return StorageState.model_validate(json.loads(text_of(path)))
    except OSError as error:
        raise InvalidArguments(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}"
            for item in error.errors(include_input=False, include_url=False)[:5]
        )
        raise InvalidArguments(f"{path} is no storage state ({wrong})") from None
    except ValueError:
        raise InvalidArguments(f"{path} is not JSON: save it with `context.storage_state(path=…)`") from None


def origins(visited: list[str], cookies: list[dict[str, Any]]) -> list[str]:
    """The origins that may keep something: visited ones, and those that the cookies are of."""
    domains = {str(cookie["domain"]).lstrip(".") for cookie in cookies}
    return list(dict.fromkeys([*visited, *(f"https://{domain}" for domain in sorted(domains))]))[:MOST_ORIGINS]


def visited(user_data: Path) -> list[str]:
    """The origins in the browser's history, last visited first. While no browser has the profile."""
    history = user_data / "Default" / "History"
    if not history.is_file():
        return []
    try:
        with closing(sqlite3.connect(f"{history.as_uri()}?mode=ro", uri=True, timeout=1)) as connection:
            rows = connection.execute("SELECT url FROM urls ORDER BY last_visit_time DESC").fetchall()
    except sqlite3.DatabaseError:
        return []
    parts = [urlsplit(str(url)) for (url,) in rows]
    return list(dict.fromkeys(f"{part.scheme}://{part.netloc}" for part in parts if part.scheme in ("http", "https")))
