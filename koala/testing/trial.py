"""A trial of one workflow: its task in a store in memory, run attempt by attempt, dying where the test wants it."""

from __future__ import annotations

import json
import secrets as random
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from koala import endings, keys, leases, ledger, reviews, settling, switches, tasks, timeline
from koala.attempt import Attempt
from koala.client import prepare
from koala.endings import Ending
from koala.errors import Refused
from koala.leases import Lease, Terms
from koala.ledger import Entry
from koala.reviews import Answer, Question
from koala.run import Facts, Run
from koala.store import Store
from koala.tasks import Task
from koala.testing.crash import Crash, Died
from koala.testing.memory import memory_store
from koala.testing.parent import GivenBrowser, InProcess
from koala.timeline import Event
from koala.workflow import Registry, Workflow

if TYPE_CHECKING:
    from playwright.async_api import Page

TERMS = Terms(ttl_s=86_400, margin_s=1)
"""A test may sit in a debugger for long."""
MOST_ATTEMPTS = 20


@dataclass(frozen=True)
class Ended:
    """How the task stands after an attempt. `status` is one of the task's; `result` what the workflow returned."""

    status: str
    reason: str
    result: Any
    error: str


class Trial:
    """One task. Made by `trial`."""

    def __init__(self, store: Store, workflow: Workflow, task: Task, home: Path, page: Page | None) -> None:
        self.store = store
        self._workflow = workflow
        self._id = task.id
        self._home = home
        self._page = page
        self.artifacts = home / "artifacts"
        self.raised: BaseException | None = None
        """What the last attempt raised, with its traceback; None when it returned or was crashed."""

    async def run(self, *, crash: Crash | None = None) -> Ended:
        """One attempt, now: no pause between attempts is waited for.

        Raises Refused when the task has ended or waits for an answer, AssertionError when the crash was never reached.
        """
        self._refuse_at_rest()
        self._make_due()
        attempt = self._acquire()
        if isinstance(attempt, str):
            return Ended(self.task.status, attempt, None, "")
        parent = InProcess(attempt, crash)
        self._release(attempt, await self._once(attempt, parent))
        if crash and not parent.died:
            raise AssertionError(f"the attempt never came to {crash}; it ended as {self.ended}") from self.raised
        return self.ended

    async def finish(self) -> Ended:
        """Attempts until the task ends, waits for a person, or is paused."""
        for _ in range(MOST_ATTEMPTS):
            ended = await self.run()
            if self.task.ended or self.task.status == "review" or ended.reason == "paused":
                return ended
        raise Refused(f"the task has not ended after {MOST_ATTEMPTS} attempts: {self.ended}")

    @property
    def task(self) -> Task:
        """The record as it is now."""
        return tasks.get(self.store, self._id)

    @property
    def ended(self) -> Ended:
        """How it stands now."""
        task = self.task
        return Ended(task.status, task.reason, json.loads(task.result) if task.result else None, task.error)

    @property
    def effects(self) -> list[Entry]:
        """Its effects as the ledger has them."""
        return ledger.of_task(self.store, self._id)

    @property
    def timeline(self) -> list[Event]:
        """What happened, in order."""
        return timeline.read(self.store, self._id)

    @property
    def question(self) -> Question | None:
        """The open question, None without one."""
        return reviews.get(self.store, self.task.question) if self.task.question else None

    def answer(self, given: Answer | str, *, receipt: Any = None) -> None:
        """Answer the open question, as a person would. Raises Refused as that does."""
        if self.question is None:
            raise Refused("no question is open")
        reviews.answer(self.store, self.question.id, Answer(given), "the test", receipt=receipt)

    def approve(self) -> None:
        """The answer `approve`."""
        self.answer(Answer.APPROVE)

    def reject(self) -> None:
        """The answer `reject`."""
        self.answer(Answer.REJECT)

    def pause(self) -> None:
        """Pause the pool: steps and effects stop at their next gate."""
        switches.turn_on(self.store, switches.POOL, "the test")

    def resume(self) -> None:
        """End the pause."""
        switches.turn_off(self.store, switches.POOL)

    def cancel(self) -> None:
        """Cancel the task, as a person would."""
        tasks.cancel(self.store, self._id, "the test")

    def _refuse_at_rest(self) -> None:
        task = self.task
        if task.ended:
            raise Refused(f"the task has ended: {task.status}, {task.reason}")
        if task.status == "review":
            raise Refused("the task waits for an answer: approve(), reject() or answer(…) first")

    def _make_due(self) -> None:
        if self.task.status == "later":
            self.store.client.hset(keys.task(self._id), "due_ms", 0)
            self.store.client.zadd(keys.index("later"), {self._id: 0})
            tasks.promote(self.store)

    def _acquire(self) -> Attempt | str:
        lease = leases.acquire(
            self.store, self.task, random.token_hex(8), TERMS, slot="trial", worker="trial", facts={}
        )
        return Attempt(self.store, self.task, lease, "trial") if isinstance(lease, Lease) else lease

    async def _once(self, attempt: Attempt, parent: InProcess) -> Ending:
        task = attempt.task
        args = self._workflow.check_args(json.loads(task.args))
        browser = GivenBrowser(self._page)
        run = Run(self._facts(attempt), parent, browser)
        self.raised = None
        try:
            ending = endings.returned(await self._workflow(run, args))
            return await settling.left_open(parent, browser) or ending
        except Died:
            return {"outcome": "crashed", "reason": "the trial had it crash", "kill": True}
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            self.raised = error
            return endings.raised(error, task.workflow, task.id)

    def _facts(self, attempt: Attempt) -> Facts:
        task = attempt.task
        return Facts(
            task_id=task.id,
            workflow=task.workflow,
            version=task.version,
            profile=task.profile,
            fence=attempt.fence,
            artifacts=self.artifacts,
            secrets_dir=self._home / "secrets",
        )

    def _release(self, attempt: Attempt, ending: Ending) -> None:
        kept = ("reason", "result", "error", "question", "final")
        details = {name: ending[name] for name in kept if name in ending}
        if ending["outcome"] == "snoozed":
            details["delay_ms"] = int(ending["delay_s"] * 1000)
        attempt.gone("the trial's attempt is over")
        attempt.release(ending["outcome"], details)


@asynccontextmanager
async def trial(
    workflow: Workflow,
    args: dict[str, Any] | None = None,
    *,
    profile: str = "",
    page: Page | None = None,
    secrets: dict[str, str] | None = None,
) -> AsyncIterator[Trial]:
    """A new task of this workflow in a store of its own.

    `page` is one of the test's own, where the workflow uses one; `secrets` are what `run.secret` gives. Artifacts are
    removed at the end. Raises InvalidArguments, and MemoryStoreMissing without the extra `testing`.
    """
    store = memory_store()
    given = prepare(Registry([workflow]), workflow, args or {}, profile=profile)
    task = tasks.get(store, tasks.submit(store, given).id)
    with tempfile.TemporaryDirectory(prefix="koala-trial-") as home:
        _mount(Path(home) / "secrets", secrets or {})
        yield Trial(store, workflow, task, Path(home), page)


def _mount(folder: Path, values: dict[str, str]) -> None:
    folder.mkdir(mode=0o700)
    for name, value in values.items():
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(value, "utf-8")
