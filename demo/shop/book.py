"""The order book: the judge of what really happened at the shop."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from demo.shop.journal import Journal
from demo.shop.order import Order


class OrderBook:
    """The orders in a file, one a line. An order exists if and only if its line is in the file.

    Reading works for any process, while the shop runs and after it has ended, however it ended.
    """

    def __init__(self, path: Path | str) -> None:
        self._journal = Journal(Path(path))
        self._orders: list[Order] = []
        self._read_to = 0

    @property
    def path(self) -> Path:
        """Where the book lies."""
        return self._journal.path

    def open_for_writing(self) -> None:
        """Take the book and drop a torn last line; BlockingIOError when another process writes it."""
        self._journal.open_for_writing()

    def append(self, order: Order) -> None:
        """Enter an order; it is durable when this returns. Needs `open_for_writing`. Raises OSError."""
        self._journal.append(order.record())

    def orders(self) -> list[Order]:
        """Every order, oldest first; empty when there is no book yet. Reads what is new in the file."""
        records, self._read_to = self._journal.records(self._read_to)
        self._orders.extend(Order.from_record(record) for record in records)
        return list(self._orders)

    def with_reference(self, reference: str) -> list[Order]:
        """The orders that carry exactly this reference, oldest first."""
        return [order for order in self.orders() if order.reference == reference]

    def references(self) -> Counter[str]:
        """How many orders carry each reference. Orders without a reference are not counted."""
        return Counter(order.reference for order in self.orders() if order.reference)

    def duplicates(self) -> dict[str, list[Order]]:
        """The references that more than one order carries, with those orders; empty when all is well."""
        doubled = [reference for reference, count in self.references().items() if count > 1]
        return {reference: self.with_reference(reference) for reference in doubled}
