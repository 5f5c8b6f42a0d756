"""The pages of an attempt, without its attempt."""

from __future__ import annotations

from koala.fence import Fence
from worker.browser import BrowserOptions, Browsers, Driver
from worker.engine import Engine
from worker.pages import Pages


class Listener:
    """Who is told of an attempt's browser; remembers what was blocked."""

    def __init__(self) -> None:
        self.blocks: list[dict[str, object]] = []

    async def opened(self, found: dict[str, object]) -> None:
        """Nothing."""

    async def blocked(self, what: dict[str, object]) -> None:
        """One more."""
        self.blocks.append(what)


def pages_of(
    name: str, driver: Driver, browsers: Browsers, options: BrowserOptions, told: Listener | None = None
) -> Pages:
    """Pages of a profile, or of throw-away contexts when `name` is empty. Nothing is opened yet."""
    engine = Engine(driver.volume, lambda: browsers, options, lambda lock: None, driver)
    return Pages(engine, name, Fence(1, 1), options, told or Listener())
