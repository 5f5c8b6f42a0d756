"""What the shop sells, and for how much at the moment."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from demo.shop.money import money


@dataclass(frozen=True, slots=True)
class Product:
    """One thing on the shelf, with the price it has when the shop opens."""

    sku: str
    name: str
    first_price: str
    blurb: str


SHELF = (
    Product("LEAF-100", "Eucalyptus leaves, 100 g", "4.50", "Picked in the morning, for slow afternoons."),
    Product("LEAF-500", "Eucalyptus leaves, 500 g", "18.00", "The family bag. Closes again, if need be."),
    Product("TEA-20", "Gum tree tea, 20 bags", "6.90", "Mild. Steep for as long as you can stay awake."),
    Product("MUG-1", "Stoneware mug", "12.50", "Holds a third of a litre and a good deal of warmth."),
    Product("BLANKET-1", "Wool blanket", "59.00", "One metre thirty by two. Grey, like everyone here."),
    Product("PILLOW-1", "Fork-of-a-tree pillow", "34.00", "Firm on one side, hollow on the other."),
    Product("LAMP-1", "Night lamp", "27.40", "For those who are up when others sleep."),
    Product("CLOCK-1", "Clock without an alarm", "41.00", "Shows the hour. Asks for nothing."),
    Product("ROPE-10", "Climbing rope, 10 m", "38.20", "Three strands, soft to the paw."),
    Product("BASKET-1", "Willow basket", "22.00", "Carries a week's leaves."),
    Product("BOOK-1", "The Long Rest, a novel", "14.90", "Four hundred pages in which little happens, well."),
    Product("CARD-5", "Five picture postcards", "5.00", "Treetops, from above and from below."),
)


class Catalogue:
    """The shelf by sku, with prices that can move. Prices begin afresh when the shop starts."""

    def __init__(self) -> None:
        self._products = {product.sku: product for product in SHELF}
        self._prices = {product.sku: product.first_price for product in SHELF}

    def __contains__(self, sku: str) -> bool:
        return sku in self._products

    def product(self, sku: str) -> Product | None:
        """The product, or None when the shop does not sell it."""
        return self._products.get(sku)

    def price(self, sku: str) -> str:
        """The price at this moment. Raises KeyError for an unknown sku."""
        return self._prices[sku]

    def move_price(self, sku: str, by: Decimal) -> None:
        """Change the price by an amount that may be negative; it never falls below one cent."""
        self._prices[sku] = money(max(Decimal(self._prices[sku]) + by, Decimal("0.01")))

    def search(self, words: str) -> list[Product]:
        """The products that have every one of the words; the whole shelf when there are none."""
        wanted = words.lower().split()
        return [p for p in SHELF if all(word in f"{p.sku} {p.name} {p.blurb}".lower() for word in wanted)]
