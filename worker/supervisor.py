"""The worker: starts its slots, restarts one that died, passes a drain on, and ends when they have."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
from dataclasses import dataclass, field

from koala.exits import PERMANENT, Exit
from koala.logs import log
from koala.settings import Settings
from worker import processes
from worker.volume import Volume

RESTART_S = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
CALM_S = 60.0
"""A slot that lived this long starts its next life without a wait."""


def worker_name() -> str:
    """A name that no other start of a worker has."""
    return f"{socket.gethostname()[:40]}-{secrets.token_hex(3)}"


@dataclass
class Supervisor:
    """One worker's slots, each a process."""

    settings: Settings
    volume: Volume
    name: str = field(default_factory=worker_name)
    draining: asyncio.Event = field(default_factory=asyncio.Event)
    slots: dict[int, subprocess.Popen[bytes]] = field(default_factory=dict)

    async def run(self) -> Exit:
        """Until every slot has ended, on a drain or for a permanent reason; a permanent code comes before others."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.drain)
        log().info("worker_started", worker=self.name, slots=self.settings.slots)
        exits = await asyncio.gather(*(self._keep(number) for number in range(self.settings.slots)))
        code = next((code for code in exits if code in PERMANENT), max(exits))
        log().info("worker_ended", worker=self.name, exit=int(code))
        return code

    def drain(self) -> None:
        """Tell every slot to take nothing new. Once more says that it goes on; nothing is ever cut by it."""
        log().info("worker_still_drains" if self.draining.is_set() else "worker_drains", worker=self.name)
        self.draining.set()
        for slot in self.slots.values():
            slot.send_signal(signal.SIGTERM)

    async def _keep(self, number: int) -> Exit:
        """One slot over all its lives."""
        loop, lives = asyncio.get_running_loop(), 0
        while not self.draining.is_set():
            born = loop.time()
            code = await self._life(number)
            if code == 0 or code in PERMANENT:
                return Exit(code)
            if self.draining.is_set():  # one that was told before it could listen has cut nothing
                return Exit.OK if code == -signal.SIGTERM else Exit.FAILED
            lives = 0 if loop.time() - born > CALM_S else lives + 1
            log().warning("slot_died", slot=number, exit=code, lives=lives)
            await self._rest(RESTART_S[min(lives, len(RESTART_S)) - 1] if lives else 0)
        return Exit.OK

    async def _rest(self, seconds: float) -> None:
        """Wait so long, or until a drain begins."""
        try:
            async with asyncio.timeout(seconds):
                await self.draining.wait()
        except TimeoutError:
            pass

    async def _life(self, number: int) -> int:
        """Start a slot in this, the main thread, and wait for its end."""
        arguments = [sys.executable, "-m", "worker", "slot", "--worker", self.name]
        popen = subprocess.Popen(  # noqa: ASYNC220 - it has to be spawned by this, the main thread
            [*arguments, "--number", str(number), "--parent", str(os.getpid())], stdin=subprocess.DEVNULL
        )
        self.slots[number] = popen
        ended = asyncio.Event()
        descriptor = os.pidfd_open(popen.pid)
        asyncio.get_running_loop().add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            asyncio.get_running_loop().remove_reader(descriptor)
            os.close(descriptor)
        code = popen.wait()
        del self.slots[number]
        self._end_leftovers()
        await asyncio.to_thread(shutil.rmtree, self.volume.tmp / f"{self.name}-{number}", True)
        return code

    def _end_leftovers(self) -> None:
        """A slot that was killed may leave frozen descendants behind; they were reparented to us."""
        known = {slot.pid for slot in self.slots.values()}
        orphans = [child for child in processes.children(os.getpid()) if child.pid not in known]
        processes.end_tree(orphans)
        processes.reap_orphans(known)


def start(settings: Settings, where: Volume) -> Exit:
    """Run a worker."""
    processes.set_child_subreaper()
    return asyncio.run(Supervisor(settings, where).run())
