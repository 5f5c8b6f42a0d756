"""What tests and the demo use, and no customer: the manners, the book, and who a browser is taken for."""

from __future__ import annotations

import json
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from demo.shop.shop import REMEMBER_COOKIE, SESSION_COOKIE, shop_of


async def me(request: Request) -> Response:
    """Who is logged in, and which of the two cookies are there and valid."""
    shop = shop_of(request)
    session = shop.sessions.by_session(request.cookies.get(SESSION_COOKIE, ""))
    remember = shop.sessions.by_remember(request.cookies.get(REMEMBER_COOKIE, ""))
    found = {"session": session is not None, "remember": remember is not None}
    return JSONResponse({"user": shop.user(request), **found})


async def book(request: Request) -> Response:
    """The account book of the shop."""
    return JSONResponse(shop_of(request).account_book())


async def show_manners(request: Request) -> Response:
    """The rules in force and how often each manner has been shown."""
    return JSONResponse(shop_of(request).manners.state())


async def set_manners(request: Request) -> Response:
    """Change the manners named in the body, answer with all; 422 and no change when one is wrong."""
    shop = shop_of(request)
    try:
        wanted = json.loads(await request.body())
        if not isinstance(wanted, dict):
            raise ValueError("manners are a JSON object")
        to_drop, rest = _logins_to_drop(wanted)
        shop.manners.set(rest)
    except ValueError as error:
        return JSONResponse({"error": str(error)}, 422)
    if to_drop is not None:
        shop.sessions.drop(to_drop or None)
    return JSONResponse(shop.manners.state())


async def clear_manners(request: Request) -> Response:
    """Good manners from now on."""
    shop_of(request).manners.clear()
    return JSONResponse(shop_of(request).manners.state())


def _logins_to_drop(wanted: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Whose logins to drop at once ("" for all, None for nobody's), and the manners that are left.

    At once means true, a name, or a rule without a path; any other `logout` is a rule like the rest.
    """
    who = wanted.get("logout")
    if isinstance(who, dict) and set(who) <= {"user"}:
        who = who.get("user") or True
    if who is not True and not isinstance(who, str):
        return None, wanted
    return "" if who is True else who, {name: rule for name, rule in wanted.items() if name != "logout"}


routes = [
    Route("/me", me),
    Route("/book", book),
    Route("/manners", show_manners),
    Route("/manners", set_manners, methods=["POST"]),
    Route("/manners", clear_manners, methods=["DELETE"]),
]
