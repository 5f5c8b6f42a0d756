"""The child of a slot, the browser host: runs workflows, owns Playwright and Chromium, has no way to the store.

python -m worker.host DESCRIPTOR PARENT_PID
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from koala import canary, endings, logs, settings, settling
from koala.errors import KoalaError
from koala.fence import Fence
from koala.logs import log
from koala.run import Facts, Run
from koala.settings import Settings
from koala.signals import AskReview, End, Signal
from koala.workflow import Registry, Workflow, load
from worker import locks, processes, volume
from worker.browser import BrowserOptions, Browsers, find_browsers
from worker.engine import Engine
from worker.link import Message
from worker.locks import HeldLock
from worker.pages import Pages
from worker.processes import Process
from worker.upstream import Upstream, connect
from worker.volume import Volume
from worker.watchdog import Watchdog

TABS = 3
"""Dead tabs that one attempt survives."""


class Host:
    """One child: attempts one after the other."""

    def __init__(self, config: Settings, registry: Registry, where: Volume, upstream: Upstream) -> None:
        self._config = config
        self._registry = registry
        self._volume = where
        self._upstream = upstream
        self._options = self._browser_options(Path(tempfile.gettempdir()))
        self._engine = Engine(where, self._browsers, self._options, lambda lock: upstream.send({"lock": lock}))
        self._pages: Pages | None = None

    def _browser_options(self, tmp: Path) -> BrowserOptions:
        config = self._config
        return BrowserOptions(tmp=tmp, headed=config.headed, sandbox=config.browser_sandbox, proxy=config.proxy or None)

    def _browsers(self) -> Browsers:
        return find_browsers(self._config.chromium, self._config.headless_shell)

    def below(self) -> list[Process]:
        """Browsers first, then the driver, for the watchdog."""
        return [*(self._pages.processes() if self._pages else []), *self._engine.processes()]

    async def serve(self) -> None:
        """Carry out what the parent orders until it says quit."""
        while True:
            order = await self._upstream.orders.get()
            if "quit" in order:
                await self._engine.close()
                return
            self._upstream.send({"end": await self._attempt(order["assign"])})

    async def _attempt(self, given: Message) -> Message:
        fence, tmp = Fence.parse(given["fence"]), Path(given["tmp"])
        try:
            tmp.mkdir(mode=0o700, parents=True, exist_ok=True)
            path = locks.create(self._volume, locks.child_path(self._volume, fence))
            lock = locks.take(self._volume, path, "child", fence)
        except OSError as error:
            return _raised(error, given)
        self._pages = Pages(
            self._engine, given["profile"], fence, self._browser_options(tmp), self, roll_back=given["roll_back"]
        )
        self._pages.on_open = lambda result: self._upstream.send({"browser": result})
        self._upstream.send({"started": path.name})
        try:
            ending = await self._run(given, self._pages)
        except BaseException as error:
            if _being_ended():
                raise
            ending = _raised(error, given)
        return await self._close(given, ending, self._pages, lock)

    async def _close(self, given: Message, ending: Message, pages: Pages, lock: HeldLock) -> Message:
        """Close the browser kindly, unless an outcome is unknown or something died: then the parent ends us."""
        if ending.get("kill"):
            return ending
        closed = await pages.close(self._config.close_budget_s)
        if closed and given["profile"]:
            with suppress(End):  # the store may be away; the profile's own record has it too
                await self._upstream.call("profile_closed", ending=closed)
        self._pages = None
        self._upstream.rest()
        lock.release()  # the parent removes the file, if nothing that this attempt did is left to be proved
        return ending | {"closed": closed}

    async def opened(self, found: dict[str, Any]) -> None:
        """Tell what was found when the profile was opened."""
        await self._upstream.call("profile_opened", found=found)

    async def blocked(self, what: dict[str, Any]) -> None:
        """Tell that the guard blocked a request."""
        await self._upstream.call("record", action="guard_blocked", data=what)

    async def _run(self, given: Message, pages: Pages) -> Message:
        chosen = self._registry.for_task(given["workflow"], given["version"])
        if chosen is None:
            return {"outcome": "parked", "reason": f"this child does not know {given['workflow']} {given['version']}"}
        run = Run(self._facts(given), self._upstream, pages)
        args = chosen.check_args(given["args"])
        for dead_tabs in range(TABS + 1):
            ending = await self._once(chosen, run, args, pages, given)
            if ending is not None:
                return ending
            await self._upstream.call("record", action="tab_died", data={"dead_tabs": dead_tabs + 1})
            await pages.new_tab()
        return {"outcome": "crashed", "reason": f"{TABS + 1} tabs died under it", "kill": True, "crash": "tab"}

    async def _once(self, chosen: Workflow, run: Run, args: Any, pages: Pages, given: Message) -> Message | None:
        """One pass through the workflow: how the attempt ends; None when a tab died and it goes on in a new one."""
        work = asyncio.ensure_future(_contained(chosen, run, args))
        death = asyncio.ensure_future(pages.died.wait())
        try:
            await asyncio.wait({work, death}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await asyncio.sleep(0.05)  # a dying browser closes its page first: let the verdict settle
                work.cancel()
            ending = endings.returned(await work)
            return await settling.left_open(self._upstream, pages) or ending
        except BaseException as error:
            if _being_ended():
                raise
            await pages.look_after(error)
            return self._ending(error, pages, given)
        finally:
            death.cancel()

    def _ending(self, error: BaseException, pages: Pages, given: Message) -> Message | None:
        dead = "" if isinstance(error, (End, AskReview)) else pages.failed()
        if dead == "tab":
            return None
        if dead:
            return {"outcome": "crashed", "reason": f"its {dead} died", "kill": True, "crash": dead}
        return _raised(error, given)

    def _facts(self, given: Message) -> Facts:
        return Facts(
            task_id=given["task"],
            workflow=given["workflow"],
            version=given["version"],
            profile=given["profile"],
            fence=given["fence"],
            artifacts=Path(given["artifacts"]),
            secrets_dir=self._config.secrets_dir,
            step_timeout_s=self._config.step_timeout_s,
        )


class WorkflowExited(KoalaError):
    """The workflow called sys.exit(), or raised what ends a program. Here it ends its attempt, as any exception."""

    code = "workflow_exited"


async def _contained(chosen: Workflow, run: Run, args: Any) -> Any:
    """What the workflow returns. An event loop would end over what ends programs."""
    try:
        return await chosen(run, args)
    except (SystemExit, KeyboardInterrupt) as error:
        raise WorkflowExited(f"the workflow raised {type(error).__name__}: return, or raise Cancel(reason)") from error


def _being_ended() -> bool:
    """Whether it is this task itself that is cancelled: then the loop ends, and the child with it."""
    task = asyncio.current_task()
    return bool(task and task.cancelling())


def _raised(error: BaseException, given: Message) -> Message:
    if not isinstance(error, (Signal, *endings.FINAL)):
        log().debug("attempt_raised", exc_info=error)
    return endings.raised(error, given["workflow"], given["task"])


async def _main(config: Settings, descriptor: int, parent: int) -> None:
    watchdog = Watchdog(parent, list)
    upstream = Upstream(connect(descriptor), watchdog)
    try:
        registry = load(config.modules)
        registry.add(canary.canary)  # the parent decides when: only a slot on trial is given one
        where = volume.open_volume(config.data)
    except KoalaError as error:
        upstream.send({"fault": str(error), "code": error.code, "exit": int(error.exit)})
        return
    host = Host(config, registry, where, upstream)
    watchdog._below = host.below
    watchdog.start()
    upstream.send({"ready": registry.runs, "pid": os.getpid()})
    await host.serve()


def main() -> None:
    """Die with the parent, then serve it."""
    descriptor, parent = int(sys.argv[1]), int(sys.argv[2])
    processes.set_parent_death_signal(parent)
    sys.stdout = sys.stderr = logs.Redacting(sys.stderr)
    config = settings.load(redis_password=None)  # the child has no way to the store, also not by a secrets directory
    logs.configure(config.log_format, config.log_level, program="host")
    tempfile.tempdir = os.environ.get("TMPDIR")
    asyncio.run(_main(config, descriptor, parent))


if __name__ == "__main__":
    main()
