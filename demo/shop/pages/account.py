"""Logging in and out, and the account page."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from demo.shop.forms import local_path, text
from demo.shop.manners import Visit
from demo.shop.pages.render import page
from demo.shop.sessions import Login
from demo.shop.shop import REMEMBER_COOKIE, SESSION_COOKIE, Shop, shop_of

THIRTY_DAYS_S = 30 * 24 * 3600


async def login_page(request: Request) -> Response:
    """The login form."""
    return page(request, "login.html", next=request.query_params.get("next", ""), name="", error="")


async def log_in(request: Request) -> Response:
    """Check the password, set both cookies and go where the visitor wanted to go."""
    shop = shop_of(request)
    async with request.form() as form:
        name, password, goal = text(form, "username"), text(form, "password"), text(form, "next")
    if not shop.admits(name, password):
        error = "User name or password is wrong."
        return page(request, "login.html", 401, next=goal, name=name, error=error)
    login = shop.sessions.login(name)
    answer = RedirectResponse(local_path(goal), 303)
    answer.set_cookie(SESSION_COOKIE, shop.sessions.session_cookie(login), httponly=True, samesite="lax")
    _remember(answer, shop.sessions.remember_cookie(login))
    return answer


async def log_out(request: Request) -> Response:
    """End the login that either cookie belongs to, and take both away."""
    shop = shop_of(request)
    for login in _logins(request, shop):
        shop.sessions.end(login, "logged out")
    answer = RedirectResponse("/", 303)
    answer.delete_cookie(SESSION_COOKIE)
    answer.delete_cookie(REMEMBER_COOKIE)
    return answer


async def account(request: Request) -> Response:
    """Who the visitor is; here the remember cookie changes when the shop rotates its tokens."""
    shop = shop_of(request)
    user = shop.user(request)
    if user is None:
        return RedirectResponse("/login?next=/account", 303)
    answer = page(request, "account.html", orders=sum(order.user == user for order in shop.book.orders()))
    if rule := shop.manners.take("rotate_tokens", Visit(request.url.path, user)):
        _remember(answer, shop.sessions.rotate(request.cookies[REMEMBER_COOKIE], rule.grace_s))
    return answer


def _remember(answer: Response, value: str) -> None:
    answer.set_cookie(REMEMBER_COOKIE, value, max_age=THIRTY_DAYS_S, httponly=True, samesite="lax")


def _logins(request: Request, shop: Shop) -> list[Login]:
    session = shop.sessions.by_session(request.cookies.get(SESSION_COOKIE, ""))
    remember = shop.sessions.by_remember(request.cookies.get(REMEMBER_COOKIE, ""))
    return list({login.number: login for login in (session, remember) if login is not None}.values())


routes = [
    Route("/login", login_page),
    Route("/login", log_in, methods=["POST"]),
    Route("/logout", log_out, methods=["POST"]),
    Route("/account", account),
]
