"""What visitors send, checked."""

from __future__ import annotations

from starlette.datastructures import FormData, QueryParams
from starlette.requests import Request

from demo.shop.cart import COOKIE, Cart
from demo.shop.catalogue import Catalogue
from demo.shop.shop import shop_of


def text(form: FormData, name: str) -> str:
    """A field's text without the blanks around it; empty when it was not sent."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def wanted(catalogue: Catalogue, form: FormData | QueryParams) -> Cart:
    """The products named by the fields `sku` and `qty`, pair by pair; a missing quantity is one.

    ValueError when the shop does not sell one of them or a quantity is not a number.
    """
    cart = Cart(catalogue)
    quantities = [str(qty) for qty in form.getlist("qty")]
    for index, sku in enumerate(str(sku) for sku in form.getlist("sku")):
        qty = quantities[index] if index < len(quantities) else "1"
        if sku not in catalogue or not qty.isdecimal():
            raise ValueError(f"we do not sell {qty} of {sku}")
        cart.put(sku, int(qty))
    return cart


def brought_cart(request: Request) -> Cart:
    """The cart in the visitor's cookie."""
    return Cart.from_cookie(shop_of(request).catalogue, request.cookies.get(COOKIE, ""))


def local_path(path: str) -> str:
    """The path when it leads into this shop, else the account page."""
    return path if path.startswith("/") and not path.startswith(("//", "/\\")) else "/account"
