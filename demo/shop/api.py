"""The shop without pages: orders and prices as JSON, over the same book and with the same manners."""

from __future__ import annotations

from decimal import Decimal

from pydantic import BaseModel, Field, ValidationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from demo.shop.desk import Outcome
from demo.shop.money import money
from demo.shop.order import Item, Order
from demo.shop.shop import Shop, shop_of
from demo.shop.wire import cut


class Wish(BaseModel, extra="forbid"):
    """The body of an order. Without a price the shop takes its own; with one it believes the client."""

    user: str = Field(min_length=1)
    sku: str
    reference: str = ""
    qty: int = Field(default=1, ge=1, le=99)
    price: Decimal | None = Field(default=None, ge=0)

    def order(self, shop: Shop) -> Order:
        """The order for this wish; KeyError when the shop does not sell it."""
        price = shop.catalogue.price(self.sku) if self.price is None else money(self.price)
        return Order.new(self.user, self.reference.strip(), (Item(self.sku, self.qty, price),))


async def place_order(request: Request) -> Response:
    """201 with the id; 422 for a body that makes no sense, 404 for what the shop does not sell.

    Nothing is compared: each call is an order.
    """
    shop = shop_of(request)
    try:
        wish = Wish.model_validate_json(await request.body())
    except ValidationError as error:
        return JSONResponse({"error": str(error)}, 422)
    if wish.sku not in shop.catalogue:
        return _unknown(wish.sku)
    order = wish.order(shop)
    outcome = await shop.desk.place(order, request.url.path)
    if outcome in (Outcome.CUT, Outcome.CUT_BARE):
        return cut(request, bare=outcome is Outcome.CUT_BARE)
    if outcome is Outcome.FAILED:
        return JSONResponse({"error": "something went wrong"}, 500)
    return JSONResponse({"id": order.id}, 201)


async def find_orders(request: Request) -> Response:
    """The orders in the book, oldest first; narrowed by `reference` and `user` when given."""
    reference, user = request.query_params.get("reference"), request.query_params.get("user")
    orders = shop_of(request).book.orders()
    found = [o for o in orders if reference in (None, o.reference) and user in (None, o.user)]
    return JSONResponse({"orders": [order.record() for order in found]})


async def price(request: Request) -> Response:
    """The price of a product; 404 when the shop does not sell it. Counts as a reading of the price."""
    shop, sku = shop_of(request), request.path_params["sku"]
    if sku not in shop.catalogue:
        return _unknown(sku)
    user = shop.user(request) or ""
    return JSONResponse({"sku": sku, "price": shop.read_price(sku, request.url.path, user)})


def _unknown(sku: str) -> Response:
    return JSONResponse({"error": f"we do not sell {sku}"}, 404)


routes = [
    Route("/api/orders", find_orders),
    Route("/api/orders", place_order, methods=["POST"]),
    Route("/api/price/{sku}", price),
]
