"""The shop's desk on its own, without a process around it."""

from __future__ import annotations

from pathlib import Path

from demo.shop.book import OrderBook
from demo.shop.desk import Desk, Outcome
from demo.shop.manners import Manners
from demo.shop.order import Item, Order


async def test_a_desk_that_has_finished_has_entered_every_order_it_took(tmp_path: Path) -> None:
    book, manners = OrderBook(tmp_path / "orders.jsonl"), Manners()
    book.open_for_writing()
    manners.set({"store_late_ms": 60_000})
    desk = Desk(book, manners)
    order = Order.new("ann", "r-1", (Item("MUG-1", 1, "12.50"),))
    assert await desk.place(order, "/api/orders") is Outcome.ANSWERED
    assert (book.orders(), desk.pending) == ([], {order.id: order})
    await desk.finish()
    assert (book.orders(), desk.pending) == ([order], {})
