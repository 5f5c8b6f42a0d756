"""Catalogue, product, search, news and cart: what needs no login."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from demo.shop import cart
from demo.shop.forms import brought_cart, wanted
from demo.shop.news import stories
from demo.shop.order import total
from demo.shop.pages.render import message, page
from demo.shop.shop import shop_of


async def catalogue(request: Request) -> Response:
    """Everything on the shelf."""
    shelf = shop_of(request).catalogue
    return page(request, "catalogue.html", products=shelf.search(""), price=shelf.price)


async def search(request: Request) -> Response:
    """What on the shelf has all the words of `q`."""
    shelf, words = shop_of(request).catalogue, request.query_params.get("q", "")
    return page(request, "search.html", words=words, products=shelf.search(words), price=shelf.price)


async def product(request: Request) -> Response:
    """One product and its price, which counts as a reading of the price."""
    shop = shop_of(request)
    found = shop.catalogue.product(request.path_params["sku"])
    if found is None:
        return message(request, 404, "Not in the shop", "We do not sell this.")
    price = shop.read_price(found.sku, request.url.path, shop.user(request) or "")
    return page(request, "product.html", product=found, price=price)


async def news(request: Request) -> Response:
    """The newest `n` stories."""
    count = request.query_params.get("n", "5")
    return page(request, "news.html", stories=stories(int(count) if count.isdecimal() else 5))


async def show_cart(request: Request) -> Response:
    """What the visitor has put aside."""
    items = brought_cart(request).items()
    shelf = shop_of(request).catalogue
    return page(request, "cart.html", items=items, product=shelf.product, total=total(items))


async def put_in_cart(request: Request) -> Response:
    """Set the quantity of the products in the form; none of the others."""
    async with request.form() as form:
        try:
            change = wanted(shop_of(request).catalogue, form)
        except ValueError as error:
            return message(request, 422, "That did not work", str(error))
        kept = brought_cart(request)
        for sku in map(str, form.getlist("sku")):
            kept.put(sku, change.quantity(sku))
    answer = RedirectResponse("/cart", 303)
    answer.set_cookie(cart.COOKIE, kept.cookie(), httponly=True, samesite="lax")
    return answer


routes = [
    Route("/", catalogue),
    Route("/search", search),
    Route("/product/{sku}", product),
    Route("/news", news),
    Route("/cart", show_cart),
    Route("/cart", put_in_cart, methods=["POST"]),
]
