"""What stands for the slot around a trial's workflow: its parent, in this process, and its browser, if it was given."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from koala.attempt import Attempt
from koala.errors import KoalaError
from koala.store import Reply
from koala.testing.crash import Crash, Died

if TYPE_CHECKING:
    from playwright.async_api import Page


class InProcess:
    """Implements what `koala.ports.Parent` promises. Old attempts are gone, and sites have settled, at once."""

    def __init__(self, attempt: Attempt, crash: Crash | None) -> None:
        self._attempt = attempt
        self._crash = crash
        self._quiet: set[str] = set()
        self.leaving = asyncio.Event()
        self.trusted_until = math.inf
        self.died = False

    async def call(self, request: str, /, **args: Any) -> dict[str, Any]:
        """Carry out one request; raises Died where the trial wants it."""
        self._reach(request, args, before=True)
        reply: dict[str, Any] = getattr(self, f"on_{request}")(**args)
        self._reach(request, args, before=False)
        return reply

    def _reach(self, request: str, args: dict[str, Any], *, before: bool) -> None:
        if self.died or (self._crash and self._crash.at(request, args, before=before)):
            self.died = True
            raise Died

    def on_step(self, name: str, timeout_s: float) -> Reply:
        """Begin a step."""
        return self._attempt.step(name)

    def on_checkpoint(self, name: str, value: str) -> Reply:
        """Store a step's result."""
        return self._attempt.checkpoint(name, value)

    def on_step_failed(self, name: str, error: str) -> Reply:
        """A step raised."""
        return self._attempt.record("step_failed", {"step": name, "error": error})

    def on_record(self, action: str, data: dict[str, Any], fields: dict[str, str] | None = None) -> Reply:
        """Write into the timeline."""
        return self._attempt.record(action, data, fields)

    def on_look(self, operation: str, description: str) -> Reply:
        """What the ledger knows."""
        return self._attempt.look(operation, description)

    def on_sent(
        self,
        operation: str,
        token: str,
        description: str,
        approval: bool,
        timeout_s: float,
        settle_s: float,
        browser: dict[str, Any],
    ) -> Reply:
        """The gate."""
        return self._attempt.sent(operation, token, description, approval, {"machine": "testing", "settle_s": settle_s})

    def on_happened(self, operation: str, try_: int, token: str, receipt: str) -> Reply:
        """The receipt of an act."""
        return self._attempt.settle(operation, try_, "happened", token=token, receipt=receipt)

    def on_open(self) -> Reply:
        """The task's effects that are `sent`."""
        return {"ok": True, "open": self._attempt.open_effects()}

    def on_prove(self, operation: str, own_lock: str = "") -> Reply:
        """Everyone who could act was this process, whose attempt is over."""
        return {"ok": True, "reason": ""}

    def on_begin_look(self, operation: str, settle_s: float) -> Reply:
        """The site has settled: no test waits for that."""
        self._quiet.add(operation)
        return {"ok": True, "wait_s": 0.0}

    def on_confirmed(self, operation: str, try_: int, outcome: str, receipt: str) -> Reply:
        """What a takeover's confirm saw."""
        quiet = operation in self._quiet
        return self._attempt.settle(operation, try_, outcome, quiet=quiet, receipt=receipt)


class NoPage(KoalaError):
    """The workflow asked for a page, and the trial has none."""

    code = "no_page"


class GivenBrowser:
    """Implements what `koala.ports.Browser` promises over a page of the test's own, without guards and barriers."""

    def __init__(self, page: Page | None) -> None:
        self._page = page

    async def page(self) -> Page:
        """The page that was given. Raises NoPage."""
        if self._page is None:
            raise NoPage("this workflow uses a page: give the trial one of Playwright's, `trial(…, page=page)`")
        return self._page

    async def barrier(self, *, always: bool = False) -> None:
        """Nothing: the page has no profile."""

    def failed(self) -> str:
        """Nothing ever dies here but the attempt."""
        return ""

    async def guard(self, hosts: tuple[str, ...]) -> None:
        """Nothing is blocked."""

    def acting(self, on: bool) -> None:
        """Nothing is guarded."""

    async def shield(self, on: bool) -> None:
        """Nothing is repeated behind the test's back."""

    async def screenshot(self, path: Path) -> None:
        """Of the page that was given."""
        await (await self.page()).screenshot(path=path)

    def locks(self) -> dict[str, Any]:
        """There are none."""
        return {"d": "", "b": ""}
