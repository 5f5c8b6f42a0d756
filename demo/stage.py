"""The course of the demo: start, log in, work and be disturbed, look back, and end everything."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

from demo import plan, processes
from demo.fault import Fault, Scene
from demo.faults import WorkerFrozen, all_faults
from demo.plan import Work
from demo.pool import Pool
from demo.report import Evidence, Recovery, Report, Stuck, judge, refused_writes
from demo.sight import Sight, Watcher
from demo.view import Course, View
from koala import slots, tasks
from koala.client import prepare
from koala.store import OUTAGE, Store, open_store
from koala.why import explain
from koala.workflow import Registry, load

PACE_S = 0.08
STORE_S = 10.0
"""We only watch: unlike a lease, we can wait for a machine that is slow."""


class GaveUp(Exception):
    """What has to come will not come, or did not in time; the text says what."""


class Stage:
    """One demo over one directory, which has to be there and empty."""

    def __init__(self, home: Path, view: View) -> None:
        self.view = view
        self.pool = Pool(home, sandbox=os.geteuid() != 0)
        self._registry: Registry = load(["workflows"])
        self._deadline = time.monotonic() + plan.LIMIT_S
        self._faults: list[Fault] = []
        self._works: list[Work] = []
        self._logins = 0
        self._seen = Sight({}, {})
        self._stuck: list[Stuck] = []
        self._mishaps: list[str] = []

    def run(self) -> Report:
        """All of it. Everything that was started has ended when this returns or raises."""
        try:
            self._play()
            self.view.say("the workers drain, and everything ends")
            self._thaw()
            self._mishaps += self.pool.stop()
        finally:
            self.view.rest()
            self._end_all()
        return judge(self._evidence())

    def _play(self) -> None:
        self.view.say("Redis, the shop, two schedulers and two workers start")
        self.pool.start()
        store = open_store(self.pool.redis.url, timeout_s=STORE_S)
        try:
            self._until(lambda: len(slots.alive(store)) == plan.WORKERS * plan.SLOTS)
            self.view.say(f"{plan.WORKERS * plan.SLOTS} slots are there; the profiles log in at the shop")
            self._log_in(store)
            self._work(store)
        except GaveUp as error:
            self._mishaps.append(str(error))
        finally:
            store.close()

    def _log_in(self, store: Store) -> None:
        watcher = self._submit(store, plan.logins(self.pool.shop.url))
        try:
            self._until(lambda: watcher.look().over)
        finally:
            self._stuck = stuck(store, watcher.last)
        if watcher.last.count("shop.login") < len(plan.PROFILES):
            raise GaveUp("the profiles could not log in")
        self._logins = self.pool.shop.logins
        self.view.say(f"{len(plan.PROFILES)} profiles are logged in; now the work begins (ann-2 is ann's second order)")

    def _work(self, store: Store) -> None:
        """Run all tasks and all faults; returns when both are over."""
        shop = self.pool.shop
        shop.set_manners(**plan.manners())
        self._works = [*plan.orders(shop.url), *plan.news(shop.url)]
        watcher = self._submit(store, self._works)
        self._faults = all_faults(Scene(self.pool, store, self.view.say))
        try:
            self._until(lambda: self._tick(watcher))
        finally:
            self._seen = watcher.look()
            self._stuck = stuck(store, self._seen)

    def _tick(self, watcher: Watcher) -> bool:
        """Look, disturb, show; whether all is over."""
        sight = watcher.look()
        any(fault.tick(sight) for fault in self._faults)  # the next one strikes at what is seen then
        self.view.show(sight, self._course())
        waiting = [fault for fault in self._faults if not fault.over and (fault.struck or not sight.over)]
        return sight.over and not waiting

    def _submit(self, store: Store, works: list[Work]) -> Watcher:
        watcher = Watcher(store, self.pool)
        for work in works:
            given = prepare(self._registry, work.workflow, work.args, profile=work.profile)
            watcher.works[tasks.submit(store, given).id] = work
        return watcher

    def _until(self, condition: Callable[[], bool]) -> None:
        """Return when it holds. Raises GaveUp when the demo has taken too long, or a program ended by itself."""
        while not condition():
            if self.pool.complaints:
                raise GaveUp(self.pool.complaints[0])
            if time.monotonic() > self._deadline:
                raise GaveUp(f"it was not done after {plan.LIMIT_S:g} s")
            time.sleep(PACE_S)

    def _course(self) -> Course:
        dead = {worker.name: "killed" for worker in self.pool.workers if not worker.alive}
        frozen = {fault.frozen: "frozen" for fault in self._faults if isinstance(fault, WorkerFrozen) and fault.frozen}
        return Course(len(self._faults), sum(fault.over for fault in self._faults), {**dead, **frozen})

    def _evidence(self) -> Evidence:
        """What is judged. The shop has ended, so its book is complete, also with what it had put off."""
        recoveries = [Recovery(fault.name, _rounded(fault.seconds), fault.did) for fault in self._faults]
        return Evidence(
            works=self._works,
            tasks=self._seen.tasks,
            events=self._seen.events,
            references=self.pool.shop.book.references(),
            logins=self.pool.shop.logins - self._logins,
            refused=refused_writes(self.pool.logs),
            recoveries=recoveries,
            took_s=self.view.seconds,
            stuck=self._stuck,
            mishaps=self._mishaps,
        )

    def _thaw(self) -> None:
        for fault in self._faults:
            if isinstance(fault, WorkerFrozen):
                fault.thaw()

    def _end_all(self) -> None:
        """End what still runs, also what is frozen; in a demo that went well nothing does. Not to be interrupted."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        self._thaw()
        left = processes.below(os.getpid())
        self._mishaps += [f"left running: {processes.describe(process)}" for process in left]
        processes.end_all_below_us()


def stuck(store: Store, sight: Sight) -> list[Stuck]:
    """The tasks that are not done, and why."""
    open_ = {label: task for label, task in sight.tasks.items() if task.status != "done"}
    try:
        why = explain(store, open_.values())
    except OUTAGE as error:
        return [Stuck(label, task.status, f"the store is away: {error}") for label, task in open_.items()]
    return [Stuck(label, task.status, why[task.id].text) for label, task in open_.items()]


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
