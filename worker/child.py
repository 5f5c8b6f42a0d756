"""The child of a slot as its parent sees it: started, spoken to, and ended with all that it started."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import uuid
from collections.abc import Collection
from pathlib import Path

from koala import faults
from koala.exits import Exit
from koala.logs import log
from worker import environment, processes
from worker.link import LONGEST, Message, decode, encode
from worker.processes import Process

READY_S = 30.0


class ChildLost(Exception):
    """The child ended, hung, or spoke nonsense: its attempt ends as crashed."""

    def __init__(self, text: str, exit: Exit = Exit.FAILED) -> None:
        super().__init__(text)
        self.exit = exit


class Child:
    """A living child. Made by `start`, in the main thread: the parent-death signal follows the thread that spawns."""

    def __init__(self, popen: subprocess.Popen[bytes], tmp: Path, spare: Collection[Process] = ()) -> None:
        self._popen = popen
        self._spare = spare
        self._tmp = tmp
        found = processes.find(popen.pid)
        self.process = found or Process(popen.pid, 0)
        self.ended = asyncio.Event()
        self.attempts = 0
        self.locks: set[str] = set()
        """The lock files D and B of its life, as it told."""
        self.born = asyncio.get_running_loop().time()
        self._pidfd = os.pidfd_open(popen.pid)
        asyncio.get_running_loop().add_reader(self._pidfd, self._on_end)
        self._reader: asyncio.StreamReader
        self._writer: asyncio.StreamWriter

    @classmethod
    async def start(cls, tmp: Path, spare: Collection[Process] = (), *, proxy: str = "") -> Child:
        """Start a child, its TMPDIR below `tmp`, and wait until it has loaded the workflows.

        Raises ChildLost with what it said. `spare` are other processes of ours, which its end leaves alone;
        everything else below us ends with it. Its HTTP goes through `proxy`, where there is one.
        """
        own = tmp / f"child-{uuid.uuid4().hex[:12]}"
        own.mkdir(mode=0o700, parents=True)
        ours, theirs = socket.socketpair()
        arguments = [sys.executable, "-m", "worker.host", str(theirs.fileno()), str(os.getpid())]
        popen = subprocess.Popen(  # noqa: ASYNC220 - it has to be spawned by this, the main thread
            arguments,
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            env=environment.for_child(os.environ, own, proxy),
            start_new_session=True,
        )
        theirs.close()
        child = cls(popen, own, spare)
        child._reader, child._writer = await asyncio.open_connection(sock=ours, limit=LONGEST)
        try:
            ready = await asyncio.wait_for(child.receive(), READY_S)
        except (ChildLost, TimeoutError) as error:
            await child.kill()
            raise ChildLost(f"the child did not start: {str(error) or 'it hung'}") from None
        if "ready" not in ready:
            await child.kill()
            raise ChildLost(f"the child did not start: {ready.get('fault', ready)}", Exit(ready.get("exit", 1)))
        faults.child_is(popen.pid)
        return child

    @property
    def alive(self) -> bool:
        """Whether it still runs; a frozen one does."""
        return not self.ended.is_set()

    def age(self) -> float:
        """Seconds since its start."""
        return asyncio.get_running_loop().time() - self.born

    def send(self, message: Message) -> None:
        """Queue a message; never blocks. A child that is gone is noticed by `receive`."""
        if not self._writer.is_closing():
            self._writer.write(encode(message))

    async def receive(self) -> Message:
        """The next message. Raises ChildLost when there is none any more."""
        try:
            line = await self._reader.readline()
            if not line:
                raise ChildLost("the child ended")
            message = decode(line)
            if "lock" not in message:
                return message
            self.locks.add(message["lock"])
            return await self.receive()
        except ConnectionError:  # it died with words of ours unread
            raise ChildLost("the child ended") from None
        except ValueError as error:
            raise ChildLost(f"the child spoke nonsense: {error}") from None

    async def quit(self, seconds: float) -> None:
        """Ask it to close its browser and driver and end; kill it when it does not within the time."""
        self.send({"quit": True})
        try:
            async with asyncio.timeout(seconds):
                await self.ended.wait()
        except TimeoutError:
            log().warning("child_hung", pid=self.process.pid)
        await self.kill()

    async def kill(self) -> bool:
        """End the child and everything below us; reap. Returns whether all are gone. Removes its TMPDIR."""
        left = await asyncio.to_thread(processes.end_tree, [self.process])
        left += await asyncio.to_thread(processes.end_below, processes.this(), spare=self._spare)
        if not left:
            await self.ended.wait()
        self._writer.close()
        processes.reap_orphans([self.process.pid])
        await asyncio.to_thread(shutil.rmtree, self._tmp, True)
        faults.child_is(0)
        return not left

    def _on_end(self) -> None:
        asyncio.get_running_loop().remove_reader(self._pidfd)
        os.close(self._pidfd)
        self._popen.wait()
        self.ended.set()
