"""What every request passes on its way in."""

from __future__ import annotations

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from demo.shop.manners import Visit
from demo.shop.shop import Shop

JUDGES = ("/manners", "/book", "/me")


class Door:
    """Slows visits down, drops logins on the way, and keeps answers out of caches.

    The pages of the judges are always quick.
    """

    def __init__(self, app: ASGIApp, shop: Shop) -> None:
        self._app = app
        self._shop = shop

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let one request through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if scope["path"] not in JUDGES:
            await self._receive(HTTPConnection(scope))
        await self._app(scope, receive, _uncached(send))

    async def _receive(self, request: HTTPConnection) -> None:
        visit = Visit(request.url.path, self._shop.user(request) or "")
        if visit.user and self._shop.manners.take("logout", visit):
            self._shop.sessions.drop(visit.user)
        if rule := self._shop.manners.take("slow_pages_ms", visit):
            await self._shop.desk.pause(rule.ms)


def _uncached(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            # Who looks for an order must see the book of this moment.
            MutableHeaders(scope=message)["Cache-Control"] = "no-store"
        await send(message)

    return sending
