"""The order book judges offline: it needs nothing but its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from demo.shop.book import OrderBook
from demo.shop.money import money
from demo.shop.order import Item, Order


@pytest.fixture
def book(tmp_path: Path) -> OrderBook:
    book = OrderBook(tmp_path / "orders.jsonl")
    book.open_for_writing()
    return book


def order(reference: str) -> Order:
    return Order.new("ann", reference, (Item("MUG-1", 2, "12.50"), Item("TEA-20", 1, "6.90")))


def test_an_order_comes_back_from_the_file_as_it_went_in(book: OrderBook) -> None:
    placed = order("r-1")
    book.append(placed)
    assert OrderBook(book.path).orders() == [placed]
    assert (placed.sku, placed.qty, placed.price) == ("MUG-1,TEA-20", 3, "31.90")


def test_references_are_counted_and_orders_without_one_are_not(book: OrderBook) -> None:
    for reference in ("r-1", "", "r-2", "r-1", ""):
        book.append(order(reference))
    assert OrderBook(book.path).references() == {"r-1": 2, "r-2": 1}


def test_duplicates_are_the_orders_that_share_a_reference(book: OrderBook) -> None:
    first, other, second = order("r-1"), order("r-2"), order("r-1")
    for placed in (first, other, second):
        book.append(placed)
    assert OrderBook(book.path).duplicates() == {"r-1": [first, second]}


def test_two_orders_never_share_an_id() -> None:
    assert len({order("r").id for _ in range(1000)}) == 1000


def test_a_book_that_was_never_opened_has_no_orders(tmp_path: Path) -> None:
    nothing = OrderBook(tmp_path / "orders.jsonl")
    assert (nothing.orders(), nothing.references(), nothing.duplicates()) == ([], {}, {})
    assert not nothing.path.exists()


@pytest.mark.parametrize(("amount", "text"), [(12.5, "12.50"), ("7", "7.00"), ("0.1", "0.10")])
def test_money_has_two_decimals(amount: float | str, text: str) -> None:
    assert money(amount) == text


@pytest.mark.parametrize("amount", ["", "ten", "NaN", "Infinity"])
def test_what_is_no_amount_is_not_money(amount: str) -> None:
    with pytest.raises(ValueError, match="not an amount"):
        money(amount)
