"""A real HTTP proxy that notes what passes: plain requests, and what tunnels begin with."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Self
from urllib.parse import urlsplit

Pipe = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Proxy:
    """A context manager, on a port of its own. `names` are sites that only it can find: name to `host:port`."""

    def __init__(self, names: dict[str, str] | None = None) -> None:
        self._names = names or {}
        self._loop = asyncio.new_event_loop()
        self._passed: list[str] = []
        self._tunnels: list[str] = []
        self.url = ""

    def __enter__(self) -> Self:
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        server = self._do(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._do(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)

    @property
    def passed(self) -> list[str]:
        """Every request in the order of its coming: `GET http://shop.test/path`."""
        return list(self._passed)

    @property
    def tunnels(self) -> list[str]:
        """Whereto a tunnel was asked for: `host:port`."""
        return list(self._tunnels)

    def _do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _end(self) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError, OSError):
            head = await reader.readuntil(b"\r\n\r\n")
            method, target, _ = head.split(b"\r\n", 1)[0].decode().split(" ")
            if method == "CONNECT":
                await self._tunnel(target, (reader, writer))
            else:
                await self._forward(method, target, head, (reader, writer))
        writer.close()

    async def _tunnel(self, target: str, client: Pipe) -> None:
        self._tunnels.append(target)
        site = await self._site(target)
        client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        first = await client[0].read(65536)
        words = first.split(b"\r\n", 1)[0].decode(errors="replace").split(" ")
        if len(words) == 3 and words[1].startswith("/"):
            self._passed.append(f"{words[0]} http://{target.removesuffix(':80')}{words[1]}")
        site[1].write(first)
        await _join(client, site)

    async def _forward(self, method: str, target: str, head: bytes, client: Pipe) -> None:
        self._passed.append(f"{method} {target}")
        parts = urlsplit(target)
        site = await self._site(f"{parts.hostname}:{parts.port or 80}")
        path = target.removeprefix(f"{parts.scheme}://{parts.netloc}") or "/"
        headers = [line for line in head.split(b"\r\n")[1:-2] if b"connection:" not in line.lower()]
        site[1].write(b"\r\n".join([f"{method} {path} HTTP/1.1".encode(), *headers, b"Connection: close", b"", b""]))
        await _join(client, site)

    async def _site(self, target: str) -> Pipe:
        host, _, port = self._names.get(target.rpartition(":")[0], target).rpartition(":")
        return await asyncio.open_connection(host, int(port))


async def _join(client: Pipe, site: Pipe) -> None:
    """Carry bytes both ways until the site has said all."""
    out = asyncio.ensure_future(_carry(client[0], site[1]))
    await _carry(site[0], client[1])
    out.cancel()
    site[1].close()


async def _carry(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while some := await source.read(65536):
            to.write(some)
            await to.drain()
