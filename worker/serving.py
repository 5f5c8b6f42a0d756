"""A worker's start: everything that a restart cannot mend is checked once, before any slot begins."""

from __future__ import annotations

import asyncio
import os
import shutil
import time

from koala import canary, ledger, logs, settings, slots
from koala.exits import Exit
from koala.leases import Terms
from koala.logs import log
from koala.settings import Settings
from koala.starts import Start
from koala.store.opening import opened
from koala.workflow import Registry, load
from worker import capacity, launchcheck, locks, processes, sandbox, throwaway, volume, watermark
from worker.metrics import WorkerMetrics
from worker.supervisor import Supervisor
from worker.volume import Volume

LOCKS_KEPT_S = 3600.0
"""Free lock files of killed workers are removed at a start when they are older."""
TMP_KEPT_S = 86_400.0
"""Temporary directories too; longer, for a person who logs a profile in has one that no slot names."""


def serve(start: Start) -> Exit:
    """Run a worker until it is drained, or until it cannot go on. Raises KoalaError for what stops its start."""
    config = settings.load()
    logs.configure(config.log_format, config.log_level, program="worker")
    for name in settings.unknown(os.environ):
        log().warning("unknown_setting", name=name)
    capacity.check(config)
    where, registry = _checked(config)
    processes.set_child_subreaper()
    supervisor = Supervisor(config, where, on_well=start.ready)
    workflows = {canary.NAME, *(item.name for item in registry)}
    shown = WorkerMetrics(config, where, workflows, supervisor.silent_s)
    supervisor.on_metric = shown.take
    shown.serve()
    code = asyncio.run(supervisor.run())
    start.reason, start.stopped = supervisor.reason, supervisor.stopped
    return code


def _checked(config: Settings) -> tuple[Volume, Registry]:
    """The data volume and the workflows, after a look at all that the slots will need."""
    store = opened(config)
    where = volume.open_or_make(config.data)
    watermark.refuse_lower(store, where)
    registry = load(config.modules)
    _browsers(config)
    removed = locks.sweep(where, ledger.locks_in_use(store), LOCKS_KEPT_S)
    log().info("locks_swept", removed=len(removed))
    _sweep_tmp(where, {slot_["id"] for slot_ in slots.alive(store)})
    throwaway.sweep(store, where, "a worker's start", Terms(config.lease_ttl_s, config.trust_margin_s))
    store.close()
    return where, registry


def _browsers(config: Settings) -> None:
    """A browser that is there must come up, in its sandbox; having none is for pools that need none."""
    if config.launch_check:
        launchcheck.require(config)
        return
    from worker.browser import find_browsers  # brings Playwright along, which slots have no use for

    found = find_browsers(config.chromium, config.headless_shell)
    if not found.full and not found.shell:
        log().warning("no_browser", do=launchcheck.INSTALL)
    else:
        sandbox.refuse_as_root(config.browser_sandbox)


def _sweep_tmp(where: Volume, alive: set[str]) -> None:
    """Remove what was left by workers that were killed whole; a living one sees to its slots itself."""
    limit = time.time() - TMP_KEPT_S
    for folder in where.tmp.iterdir():
        if folder.name not in alive and folder.stat().st_mtime < limit:
            shutil.rmtree(folder, ignore_errors=True)
