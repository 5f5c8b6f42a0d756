"""An order: what a customer bought, at the price of that moment."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from demo.shop.money import money


@dataclass(frozen=True, slots=True)
class Item:
    """One line of an order; the price is for one piece."""

    sku: str
    qty: int
    price: str

    @property
    def total(self) -> str:
        """What the line costs."""
        return money(Decimal(self.price) * self.qty)


def total(items: tuple[Item, ...]) -> str:
    """What the lines cost together."""
    return money(sum((Decimal(item.total) for item in items), Decimal()))


@dataclass(frozen=True, slots=True)
class Order:
    """An order as it stands in the book. The reference is the client's own, may be empty or used before."""

    id: str
    user: str
    reference: str
    items: tuple[Item, ...]
    placed_at: str

    @classmethod
    def new(cls, user: str, reference: str, items: tuple[Item, ...]) -> Order:
        """An order placed now. Its id is random: one that got lost in a crash never comes again."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return cls(f"K-{secrets.token_hex(4).upper()}", user, reference, items, now)

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Order:
        """The order that `record()` once described."""
        items = tuple(Item(**item) for item in record["items"])
        return cls(record["id"], record["user"], record["reference"], items, record["placed_at"])

    @property
    def sku(self) -> str:
        """The sku, or all of them with commas between when the order has several lines."""
        return ",".join(item.sku for item in self.items)

    @property
    def qty(self) -> int:
        """How many pieces in all."""
        return sum(item.qty for item in self.items)

    @property
    def price(self) -> str:
        """What the customer pays in all."""
        return total(self.items)

    def record(self) -> dict[str, Any]:
        """The order as JSON, for the book and for the API alike."""
        return {**asdict(self), "sku": self.sku, "qty": self.qty, "price": self.price}
