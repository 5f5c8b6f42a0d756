"""What the author's side of an attempt stands on: its slot's parent and its browser, as protocols."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from playwright.async_api import Page


class Parent(Protocol):
    """The slot's parent, as the child reaches it. Every call has a time limit and raises End when no answer comes."""

    leaving: asyncio.Event
    """Set when the worker drains: nothing new is begun."""

    @property
    def trusted_until(self) -> float:
        """CLOCK_BOOTTIME until which this attempt may act."""
        ...

    async def call(self, request: str, /, **args: Any) -> dict[str, Any]:
        """One request, one answer."""
        ...


class Browser(Protocol):
    """The attempt's browser."""

    async def page(self) -> Page:
        """The attempt's page, opened at the first call."""
        ...

    async def barrier(self, *, always: bool = False) -> None:
        """Make logins durable; unless `always`, only when cookies changed. Nothing happens without a profile."""
        ...

    def failed(self) -> str:
        """`tab`, `browser` or `driver` when that has died under this attempt; empty otherwise."""
        ...

    async def guard(self, hosts: tuple[str, ...]) -> None:
        """Block unsafe HTTP methods to these hosts outside an effect."""
        ...

    async def shield(self, on: bool) -> None:
        """Have each unsafe request of the act sent once: browsers by themselves send some again."""
        ...

    def acting(self, on: bool) -> None:
        """Say that an effect's act is under way, for the guard."""
        ...

    async def screenshot(self, path: Path) -> None:
        """Save a picture of the page."""
        ...

    def locks(self) -> dict[str, Any]:
        """The names of the locks D and B, and the browser's process when it runs."""
        ...
