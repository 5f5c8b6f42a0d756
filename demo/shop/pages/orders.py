"""Order page, order and order list: what needs a login."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from demo.shop import cart
from demo.shop.desk import Outcome
from demo.shop.forms import brought_cart, text, wanted
from demo.shop.order import Item, Order, total
from demo.shop.pages.render import message, page
from demo.shop.shop import shop_of
from demo.shop.wire import cut


async def order_page(request: Request) -> Response:
    """The form that places an order: for the products named in the request ("buy now"), else for the cart."""
    shop = shop_of(request)
    try:
        named = await _named_items(request)
    except ValueError as error:
        return message(request, 422, "That did not work", str(error))
    if shop.user(request) is None:
        return _to_login("/checkout", [pair for i in named for pair in (("sku", i.sku), ("qty", str(i.qty)))])
    items = named or brought_cart(request).items()
    if not items:
        return _nothing(request)
    product = shop.catalogue.product
    return page(request, "checkout.html", items=items, product=product, total=total(items), from_cart=not named)


async def place_order(request: Request) -> Response:
    """Place the order of the form at the prices of this moment. Nothing is compared: a call is an order."""
    shop = shop_of(request)
    user = shop.user(request)
    if user is None:
        return _to_login("/checkout", [])
    try:
        items = await _named_items(request) or brought_cart(request).items()
    except ValueError as error:
        return message(request, 422, "That did not work", str(error))
    if not items:
        return _nothing(request)
    form = await request.form()
    order = Order.new(user, text(form, "reference"), items)
    outcome = await shop.desk.place(order, request.url.path)
    return _placed(request, order, outcome, from_cart=bool(text(form, "from_cart")))


async def order_list(request: Request) -> Response:
    """The user's orders in the book, newest first; with `reference` only those that carry exactly it."""
    shop = shop_of(request)
    user = shop.user(request)
    if user is None:
        return _to_login("/orders", request.query_params.multi_items())
    reference = request.query_params.get("reference", "").strip()
    orders = [o for o in reversed(shop.book.orders()) if o.user == user and reference in ("", o.reference)]
    return page(request, "orders.html", orders=orders, reference=reference)


async def order_detail(request: Request) -> Response:
    """One of the user's orders, also while it is still being processed."""
    shop, order_id = shop_of(request), request.path_params["id"]
    user = shop.user(request)
    if user is None:
        return _to_login(f"/orders/{order_id}", [])
    stored = {order.id: order for order in shop.book.orders()}
    order = stored.get(order_id) or shop.desk.pending.get(order_id)
    if order is None or order.user != user:
        return message(request, 404, "No such order", "There is no order with this number in your name.")
    return page(request, "order.html", order=order, stored=order_id in stored, product=shop.catalogue.product)


async def _named_items(request: Request) -> tuple[Item, ...]:
    named = await request.form() if request.method == "POST" else request.query_params
    return wanted(shop_of(request).catalogue, named).items()


def _nothing(request: Request) -> Response:
    return message(request, 422, "Nothing to order", "Your cart is empty.")


def _placed(request: Request, order: Order, outcome: Outcome, from_cart: bool) -> Response:
    if outcome in (Outcome.CUT, Outcome.CUT_BARE):
        return cut(request, bare=outcome is Outcome.CUT_BARE)
    if outcome is Outcome.FAILED:
        return message(request, 500, "Something went wrong", "We are sorry. Please look at your orders.")
    answer = RedirectResponse(f"/orders/{order.id}", 303)
    if from_cart:
        answer.delete_cookie(cart.COOKIE)
    return answer


def _to_login(path: str, query: list[tuple[str, str]]) -> Response:
    back = f"{path}?{urlencode(query)}" if query else path
    return RedirectResponse(f"/login?{urlencode({'next': back})}", 303)


routes = [
    Route("/checkout", order_page, methods=["GET", "POST"]),
    Route("/orders", order_list),
    Route("/orders", place_order, methods=["POST"]),
    Route("/orders/{id}", order_detail),
]
