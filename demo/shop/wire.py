"""The connection to a client, and what no web framework offers: to drop it without an answer."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

EXTENSION = "shop.cut"
RESET = struct.pack("ii", 1, 0)  # linger for no time: the kernel answers with a reset
INTERIM = b"HTTP/1.1 102 Processing\r\n\r\n"


class CuttableProtocol(H11Protocol):
    """HTTP as uvicorn speaks it; each request also carries a function that resets its socket at once."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection; from here on the application can reach its socket."""
        super().connection_made(transport)

        def cut(bare: bool) -> None:
            if not bare:
                transport.write(INTERIM)
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            transport.abort()

        self.app = _with_cut(self.app, cut)


def cut(request: Request, bare: bool) -> Response:
    """Reset the connection without an answer. What is returned here reaches nobody.

    Bare: not one byte comes back. Chromium then sends the request again by itself, also a POST, if it had
    used or opened the connection before: two orders for one click, and no caller can tell. The interim line
    that goes out otherwise keeps it from that; it is not an answer either.
    """
    request.scope["extensions"][EXTENSION](bare)
    return Response(status_code=503)


def _with_cut(app: ASGIApp, cut: Callable[[bool], None]) -> ASGIApp:
    async def cuttable(scope: Scope, receive: Receive, send: Send) -> None:
        scope["extensions"] = {**scope.get("extensions", {}), EXTENSION: cut}
        await app(scope, receive, send)

    return cuttable
