"""`Run`: what a workflow is given. Everything it does to the store goes through its slot's parent."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from koala import ledger, names
from koala.effect import Effect, Operation, Terms
from koala.errors import InvalidName, KoalaError, told
from koala.ports import Browser, Parent
from koala.redaction import redact, veil
from koala.secret import Secret, mounted
from koala.signals import End
from koala.text import exact
from koala.values import result_of, to_json

if TYPE_CHECKING:
    from playwright.async_api import Page


class StepTimeout(KoalaError):
    """A step did not end within its time limit."""

    code = "step_timeout"


@dataclass(frozen=True)
class Facts:
    """What an attempt is of, and where its files go."""

    task_id: str
    workflow: str
    version: int
    profile: str
    fence: str
    artifacts: Path
    secrets_dir: Path | None = None
    step_timeout_s: float = 60.0


class Run:
    """One attempt, as its workflow sees it."""

    def __init__(self, facts: Facts, parent: Parent, browser: Browser) -> None:
        self._facts = facts
        self._parent = parent
        self._browser = browser

    @property
    def task_id(self) -> str:
        """The task's id; the same in every attempt."""
        return self._facts.task_id

    @property
    def profile(self) -> str:
        """The profile's name; empty without one."""
        return self._facts.profile

    @property
    def version(self) -> int:
        """The workflow version that the task was made for."""
        return self._facts.version

    async def page(self) -> Page:
        """The attempt's page: in the task's profile, or in a fresh context when it has none."""
        return await self._browser.page()

    async def step(self, name: str, do: Callable[[], Any], *, timeout: timedelta | None = None) -> Any:
        """Run `do` (plain or async) and keep its JSON result; where the task has it already, return that instead.

        Raises StepTimeout. A name is for one result in a task: give the steps of a loop a number.
        """
        name = veil(name)
        limit = timeout.total_seconds() if timeout else self._facts.step_timeout_s
        reply = await self._parent.call("step", name=name, timeout_s=limit)
        if reply["go"] == "saved":
            return json.loads(reply["value"])
        if reply["go"] != "go":
            raise End("parked", str(reply.get("value") or reply.get("switch") or reply["go"]))
        try:
            text = to_json(await self._within(limit, name, do), f"the result of step {name}")
        except Exception as error:
            await self._parent.call("step_failed", name=name, error=redact(told(error))[:300])
            raise
        await self._browser.barrier()
        await self._parent.call("checkpoint", name=name, value=text)
        return json.loads(text)

    async def _within(self, limit: float, name: str, do: Callable[[], Any]) -> Any:
        clock = asyncio.timeout(limit)
        try:
            async with clock:
                return await result_of(do)
        except TimeoutError:
            if clock.expired():
                raise StepTimeout(
                    f"step {name} took longer than {limit:g} s: give it a larger timeout, or less to do"
                ) from None
            raise

    async def effect(
        self,
        name: str,
        *,
        do: Callable[[Operation], Any],
        confirm: Callable[[Operation], Any] | None = None,
        timeout: timedelta,
        settle: timedelta,
        key: str = "",
        describe: Any = None,
        review: bool | Callable[[Any], bool] = False,
    ) -> Any:
        """Do something to the outside world that must not happen twice, and return its receipt (JSON).

        `do` acts, once. `confirm` looks and gives a receipt or ABSENT, or raises when it cannot tell. `timeout` is
        for the act; `settle` is the longest time between a request leaving the browser and `confirm` seeing what it
        did. The operation is workflow, `name` and `key` (default: the task's id). `review` True, or a rule over
        `describe`, has a person approve exactly that description first. Without `confirm` an unknown outcome goes to
        a person.
        """
        if name.startswith("ask."):
            raise InvalidName(f"effect name {name!r} is not allowed: `ask.` begins the names of questions")
        key = exact(f"the key of effect {name}", key) or self._facts.task_id
        operation = ledger.operation(self._facts.workflow, names.check("effect", name), veil(key))
        description = ledger.canonical(describe)
        approval = review(describe) if callable(review) else review
        times = (timeout.total_seconds(), settle.total_seconds())
        terms = Terms(operation, key, description, do, confirm, approval, *times)
        return await Effect(terms, self._parent, self._browser).perform()

    async def approved(self, subject: str, describe: Any = None) -> bool:
        """Whether a person approved this subject with this description, after `raise AskReview(subject, describe)`."""
        operation = ledger.operation(self._facts.workflow, f"ask.{veil(subject)}", self._facts.task_id)
        seen = await self._parent.call("look", operation=operation, description=ledger.canonical(describe))
        return bool(seen["approved"])

    async def guard(self, *hosts: str) -> None:
        """For agents that click by themselves: outside an effect, unsafe methods to `hosts` get an error page."""
        await self._browser.guard(hosts)

    def secret(self, name: str) -> Secret:
        """A mounted secret; prints as stars, and is removed from everything that is stored. Raises SettingsError."""
        return mounted(self._facts.secrets_dir, name)

    def has_secret(self, name: str) -> bool:
        """Whether a secret of that name is mounted."""
        directory = self._facts.secrets_dir
        return bool(directory and (directory / names.check("secret", name)).exists())

    async def screenshot(self, name: str) -> Path:
        """Save a picture of the page as an artifact of this attempt; returns its path."""
        path = self.artifact(f"{names.check('screenshot', name)}.png")
        await self._browser.screenshot(path)
        await self._parent.call("record", action="artifact", data={"file": path.name})
        return path

    def artifact(self, name: str) -> Path:
        """Where to write a file that is kept with the attempt."""
        self._facts.artifacts.mkdir(parents=True, exist_ok=True)
        return self._facts.artifacts / names.check("artifact", name)

    async def progress(self, done: int, of: int, text: str = "") -> None:
        """Show how far it is."""
        shown = to_json({"done": done, "of": of, "text": text}, "the progress")
        await self._parent.call("record", action="", data={}, fields={"progress": shown})

    async def log(self, text: str, **data: Any) -> None:
        """Write a line into the task's timeline."""
        await self._parent.call("record", action="log", data={"text": redact(text)[:2000], **data})
