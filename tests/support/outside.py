"""A place outside, in a container: answers on every port given, says what it was asked, and counts who came.

python outside.py PORT...

It is a name server as well, whose answers may not be kept:
  cloud.test   169.254.169.254
  turns.test   itself and a place inside (its own second address), in turn
  late.test    nowhere when first asked, and a place inside from then on
  all others   nowhere
"""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import sys
from collections import Counter
from email.utils import formatdate

arrivals: Counter[str] = Counter()
asked: Counter[str] = Counter()
HOME = socket.gethostbyname(socket.gethostname())


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """One connection: one request, or another after /keep; what upgrades is echoed, and /drop gets no answer."""
    try:
        path = "/keep"
        while path.startswith("/keep"):
            path = await answer(reader, writer)
    except (OSError, asyncio.IncompleteReadError):
        pass
    finally:
        writer.close()


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> str:
    """One request; its path."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, path = head.split()[:2]
    arrivals.update([f"{method} {path}", "outside" if writer.get_extra_info("sockname")[0] == HOME else "inside"])
    if path.startswith("/drop"):
        return path
    if "upgrade: websocket" in head.lower():
        writer.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while data := await reader.read(1024):
            writer.write(data)
        return path
    status, more = ("302 Found", f"Location: {path[4:]}\r\n") if path.startswith("/to/") else ("200 OK", "")
    body = json.dumps({"head": head, "arrivals": arrivals, "asked": asked}).encode()
    more += f"Date: {formatdate(usegmt=True)}\r\nCache-Control: public, max-age=60\r\nContent-Length: {len(body)}\r\n"
    writer.write(f"HTTP/1.1 {status}\r\n{more}\r\n".encode() + body)
    await writer.drain()
    return path


class Names(asyncio.DatagramProtocol):
    """Answers questions for IPv4 addresses; to all others there is nothing to say."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode())
            at += 1 + data[at]
        question, kind = data[12 : at + 5], struct.unpack(">H", data[at + 1 : at + 3])[0]
        address = lead(".".join(labels).lower()) if kind == 1 else ""
        answer = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 0, 4) + socket.inet_aton(address) if address else b""
        code = 0x8180 if answer or kind != 1 else 0x8183
        head = data[:2] + struct.pack(">HHHHH", code, 1, 1 if answer else 0, 0, 0)
        self._transport.sendto(head + question + answer, addr)  # type: ignore[attr-defined]


def lead(name: str) -> str:
    """Where a name leads this time."""
    asked[name] += 1
    if name == "turns.test":
        return HOME if asked[name] % 2 else "10.0.0.1"
    if name == "late.test" and asked[name] > 1:
        return "10.0.0.1"
    return "169.254.169.254" if name == "cloud.test" else ""


async def main(ports: list[int]) -> None:
    """Until killed."""
    everywhere = "0.0.0.0"  # noqa: S104 - inside a container
    await asyncio.get_running_loop().create_datagram_endpoint(Names, (everywhere, 53))
    servers = [await asyncio.start_server(serve, everywhere, port) for port in ports]
    print("ready", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))


if __name__ == "__main__":
    asyncio.run(main([int(word) for word in sys.argv[1:]]))
