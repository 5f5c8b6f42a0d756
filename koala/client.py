"""Submitting tasks from a program of one's own."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from koala import canary, tasks
from koala import settings as settings_
from koala.errors import InvalidArguments
from koala.store import Store, open_store
from koala.tasks import Accepted, Submission
from koala.workflow import Registry, Workflow, load


def prepare(
    registry: Registry,
    workflow: str | Workflow,
    args: dict[str, Any],
    *,
    profile: str = "",
    key: str = "",
    at: datetime | None = None,
    deadline: datetime | timedelta | None = None,
    priority: int = 0,
) -> Submission:
    """A checked submission. Raises UnknownWorkflow, InvalidArguments or InvalidName; nothing is stored.

    A deadline that is not after the start, or after now, is refused: the task would expire unstarted.
    """
    for name, time in (("at", at), ("deadline", deadline)):
        if isinstance(time, datetime) and time.utcoffset() is None:
            raise InvalidArguments(f"`{name}` has no time zone: give an aware datetime")
    chosen = registry.newest(workflow) if isinstance(workflow, str) else workflow
    model = chosen.check_args(args)
    until = _end(at, deadline)
    return Submission(
        workflow=chosen.name,
        version=chosen.version,
        args=model.model_dump(mode="json"),
        profile=canary.check_profile(chosen.name, chosen.check_profile(profile)),
        priority=priority,
        due_ms=int(at.timestamp() * 1000) if at else 0,
        deadline_ms=int(until.timestamp() * 1000) if until else 0,
        dedupe=key,
        max_attempts=chosen.limits.attempts,
    )


def _end(at: datetime | None, deadline: datetime | timedelta | None) -> datetime | None:
    now = datetime.now().astimezone()
    until = now + deadline if isinstance(deadline, timedelta) else deadline
    if until and until <= max(at or now, now):
        when = until.strftime("%Y-%m-%d %H:%M %Z").strip()
        raise InvalidArguments(f"its deadline, {when}, is not after its start: it would expire unstarted")
    return until


def submit(
    workflow: str | Workflow,
    args: dict[str, Any] | None = None,
    *,
    profile: str = "",
    key: str = "",
    at: datetime | None = None,
    deadline: datetime | timedelta | None = None,
    priority: int = 0,
    store: Store | None = None,
) -> Accepted:
    """Accept a task; when this returns it is durable. The same `key` again gives the first task's id.

    `at` is when it may start, `deadline` when it ends as expired at the latest; aware datetimes. Without `store` the
    one of the settings is opened. Raises the errors of `prepare`, PayloadTooLarge, StoreAway and StoreUnsafe. After
    StoreAway the task may be there: submit again with the same `key`.
    """
    config = settings_.load()
    registry = Registry([workflow]) if isinstance(workflow, Workflow) else load(config.modules)
    given = prepare(
        registry, workflow, args or {}, profile=profile, key=key, at=at, deadline=deadline, priority=priority
    )
    opened = store or open_store(config.redis_url, config.password, config.redis_user)
    try:
        return tasks.submit(opened, given, payload_bytes=config.payload_bytes, dedupe_days=config.keep_ledger_days)
    finally:
        if store is None:
            opened.close()
