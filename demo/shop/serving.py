"""The shop as a running server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from pathlib import Path
from types import FrameType

import uvicorn

from demo.shop.app import application
from demo.shop.shop import Shop
from demo.shop.wire import CuttableProtocol

HOST = "127.0.0.1"
LONGEST_END_S = 1
LONGEST_SILENCE_S = 75  # as common web servers have it: connections are used again


class Server(uvicorn.Server):
    """Serves one shop on the loopback interface.

    On SIGTERM or SIGINT every pause in the shop ends: what is under way is stored and answered at once, late
    orders go into the book, and the process ends within a second or so. The end of stdin counts as SIGTERM,
    if so wished: then the shop does not outlive whoever started it.
    """

    def __init__(self, shop: Shop, port_file: Path | None, until_stdin_ends: bool) -> None:
        config = uvicorn.Config(
            application(shop),
            http=CuttableProtocol,
            ws="none",
            lifespan="on",
            log_level="error",
            access_log=False,
            timeout_keep_alive=LONGEST_SILENCE_S,
            timeout_graceful_shutdown=LONGEST_END_S,
        )
        super().__init__(config)
        self._shop = shop
        self._port_file = port_file
        self._until_stdin_ends = until_stdin_ends
        self._loop: asyncio.AbstractEventLoop | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, then tell where."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if self._until_stdin_ends:
            self._loop.add_reader(sys.stdin, self._end_with_stdin)
        for listener in sockets or ():
            announce(listener.getsockname()[1], self._port_file)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal to end has come."""
        super().handle_exit(sig, frame)
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._shop.desk.close)

    def _end_with_stdin(self) -> None:
        if self._loop is not None and not os.read(sys.stdin.fileno(), 1024):
            self._loop.remove_reader(sys.stdin)
            self.handle_exit(signal.SIGTERM, None)


def listen(port: int, host: str = HOST) -> socket.socket:
    """A socket bound to the port, or to a free one when it is 0. OSError when the port is taken."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, port))
    return listener


def announce(port: int, port_file: Path | None) -> None:
    """Tell the port: in the file, whole or not at all, or as a line of JSON on stdout."""
    if port_file is None:
        print(json.dumps({"port": port}), flush=True)
        return
    draft = port_file.with_name(f"{port_file.name}.{os.getpid()}.new")
    draft.write_text(f"{port}\n")
    os.replace(draft, port_file)
