"""`python -m scheduler once NAME`: the occurrence that is due, run to its end without a scheduler that stays.

For timers of the machine. Whoever else schedules takes the same record of the occurrence, so both together run it
once. While it waits it does what a scheduler does for tasks, unless another one leads; it decides about no other
schedule.
"""

from __future__ import annotations

import signal
import threading
from contextlib import suppress
from datetime import datetime
from types import FrameType

from koala import logs, settings, tasks
from koala.cli.watch import verdict
from koala.clock import boottime
from koala.errors import InvalidArguments
from koala.exits import Exit
from koala.logs import log
from koala.schedules import asking
from koala.schedules.asking import NotDue
from koala.settings import Settings
from koala.store import OUTAGE, Store
from koala.store.opening import opened
from koala.tasks import Task
from scheduler.duties import Duties, Duty, run_due
from scheduler.leader import Leader

NOT_HERE = frozenset({"fire", "clean", "starts"})
"""Duties of a scheduler that stays."""


class Once:
    """Waits for one task, and moves tasks on meanwhile."""

    def __init__(self, config: Settings, store: Store, task_id: str) -> None:
        self._config = config
        self._store = store
        self._task_id = task_id
        self._leader = Leader(store, config.leader_ttl_s)
        self._duties = Duties(store, config)
        self._all: list[Duty] = [duty for duty in self._duties.all() if duty.name not in NOT_HERE]
        self.stop = threading.Event()

    def wait(self, timeout_s: float) -> Task | None:
        """The task when it has ended or waits for a person, or as it is when the time is over (0: no limit).

        None when the store never answered. A store that is away is waited for.
        """
        end, task = boottime() + timeout_s, None
        while not self.stop.is_set() and (not timeout_s or boottime() < end):
            try:
                self._leader.keep()
                run_due(self._all, self._leader)
                task = tasks.get(self._store, self._task_id)
            except OUTAGE:
                self._duties.store_was_away()
            if task and (task.ended or task.status == "review"):
                break
            self.stop.wait(self._config.tick_s)
        with suppress(*OUTAGE):
            self._leader.give_up()
        return task


def once(name: str, occurrence: str = "", timeout_s: float = 0) -> Exit:
    """Run the latest due occurrence of a schedule, or that one, and wait for its end: codes as of `submit --wait`.

    0 also when there is nothing to run: nothing is due, the schedule is paused, or an earlier run is not over and the
    policy says no. Raises NotFound, Refused, and what stops the start of any program.
    """
    planned = _moment(occurrence) if occurrence else 0
    config = settings.load()
    logs.configure(config.log_format, config.log_level, program="scheduler")
    store = opened(config)
    try:
        task_id = asking.take(store, name, planned, config.keep_ledger_days)
    except NotDue as error:
        log().info("nothing_due", schedule=name, why=str(error))
        return Exit.OK
    log().info("run_awaited", schedule=name, task=task_id)
    return _ended(_waiter(config, store, task_id).wait(timeout_s), name)


def _moment(text: str) -> int:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArguments(f"--occurrence {text!r} is no time: write it like 2027-03-28T01:00:00Z") from None
    if when.tzinfo is None:
        raise InvalidArguments(f"--occurrence {text!r} has no time zone: write it like 2027-03-28T01:00:00Z")
    return round(when.timestamp() * 1000)


def _waiter(config: Settings, store: Store, task_id: str) -> Once:
    """One that stops waiting at SIGTERM or SIGINT; the task goes on."""
    made = Once(config, store, task_id)

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        made.stop.set()

    signal.signal(signal.SIGTERM, ask_to_stop)
    signal.signal(signal.SIGINT, ask_to_stop)
    return made


def _ended(task: Task | None, name: str) -> Exit:
    if task is None:
        log().warning("store_away", schedule=name)
        return Exit.STORE_AWAY
    code, text = verdict(task)
    log().info("run_seen", schedule=name, task=task.id, status=task.status, exit=code, said=text)
    return Exit(code)
