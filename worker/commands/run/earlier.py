"""Earlier runs in the user's own store: what is unfinished goes on, what is old goes away."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

from koala import keys, ledger, tasks
from koala.cli.output import say
from koala.clock import wall_ms
from koala.store import Store
from koala.tasks import Submission, Task
from worker import locks
from worker.commands.run.home import Home

DAY_MS = 86_400_000
LOCKS_KEPT_S = 3600.0
AGAIN = ("failed", "cancelled", "dead")


def task_for(store: Store, given: Submission, *, keep: bool) -> tuple[Task, bool]:
    """The task of an unfinished run of the same workflow, arguments and profile, else a new one; and whether it is new.

    With `keep` also one that failed or was cancelled is started again, from its checkpoints.
    """
    open_ = [status for status in keys.STATUSES if status not in keys.ENDED]
    found = _same(store, given, open_) or (_same(store, given, list(AGAIN)) if keep else None)
    if found is None:
        made = tasks.submit(store, replace(given, max_attempts=1))
        return tasks.get(store, made.id), True
    if found.ended:
        tasks.retry(store, found.id, "koala run --keep")
    return tasks.get(store, found.id), False


def _same(store: Store, given: Submission, statuses: list[str]) -> Task | None:
    alike = [
        task
        for status in statuses
        for task in tasks.many(store, tasks.ids(store, status, limit=1000, newest=True))
        if (task.workflow, task.version, task.profile) == (given.workflow, given.version, given.profile)
        and json.loads(task.args) == given.args
    ]
    return max(alike, key=lambda task: task.created_ms, default=None)


def tell_unsettled(store: Store, but: str) -> None:
    """Say which other runs left an effect unsettled: only the same command again settles it."""
    for status in (status for status in keys.STATUSES if status not in keys.ENDED):
        for task in tasks.many(store, tasks.ids(store, status, limit=1000)):
            if task.id != but and ledger.open_of_task(store, task.id):
                say(
                    f"an earlier run of {task.workflow} with arguments {task.args} has an effect that is not settled: "
                    "run it again with them",
                    style="yellow",
                )


def clean(home: Home) -> None:
    """Remove what ended long ago: records, artifacts, lock files of killed runs, temporary directories."""
    older = int(wall_ms() - home.settings.keep_tasks_days * DAY_MS)
    tasks.forget(home.store, older)
    for folder in home.volume.artifacts.iterdir():
        if not home.store.client.exists(keys.task(folder.name)):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in home.volume.tmp.iterdir():
        shutil.rmtree(folder, ignore_errors=True)
    locks.sweep(home.volume, ledger.locks_in_use(home.store), LOCKS_KEPT_S)
