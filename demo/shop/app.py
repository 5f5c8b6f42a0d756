"""The shop as a web application."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from demo.shop import api, judges
from demo.shop.door import Door
from demo.shop.pages import account, goods, orders
from demo.shop.pages.render import message
from demo.shop.shop import Shop


def application(shop: Shop) -> Starlette:
    """The application over an open shop; when it ends, every order it has accepted is in the book."""

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await shop.desk.finish()

    app = Starlette(
        routes=[*goods.routes, *account.routes, *orders.routes, *api.routes, *judges.routes],
        middleware=[Middleware(Door, shop=shop)],
        exception_handlers={404: _not_found},
        lifespan=lifespan,
    )
    app.state.shop = shop
    return app


async def _not_found(request: Request, _: Exception) -> Response:
    return message(request, 404, "Nothing here", "There is no such page in this shop.")
