"""A cart: what a visitor has put aside. It lies with the visitor, in a cookie."""

from __future__ import annotations

from demo.shop.catalogue import Catalogue
from demo.shop.order import Item

COOKIE = "shop_cart"
MOST = 99


class Cart:
    """Quantities by sku, only of things the shop sells and from one to 99 pieces each."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._quantities: dict[str, int] = {}

    @classmethod
    def from_cookie(cls, catalogue: Catalogue, cookie: str) -> Cart:
        """The cart a browser brought along; what makes no sense in it is left out."""
        cart = cls(catalogue)
        for line in cookie.split("|"):
            sku, _, qty = line.partition(":")
            if sku in catalogue and qty.isdecimal():
                cart.put(sku, int(qty))
        return cart

    def put(self, sku: str, qty: int) -> None:
        """Have so many of this in the cart, not so many more: doing it twice changes nothing."""
        self._quantities[sku] = max(0, min(qty, MOST))
        if self._quantities[sku] == 0:
            del self._quantities[sku]

    def quantity(self, sku: str) -> int:
        """How many pieces of it; zero when it is not in the cart."""
        return self._quantities.get(sku, 0)

    def cookie(self) -> str:
        """The cart as a cookie; empty when the cart is."""
        return "|".join(f"{sku}:{qty}" for sku, qty in self._quantities.items())

    def items(self) -> tuple[Item, ...]:
        """The lines at the prices of this moment."""
        return tuple(Item(sku, qty, self._catalogue.price(sku)) for sku, qty in self._quantities.items())
