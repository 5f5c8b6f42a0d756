"""The shop behind its pages: the shelf, the book, the logins and the manners, in one place."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import HTTPConnection

from demo.shop.book import OrderBook
from demo.shop.catalogue import Catalogue
from demo.shop.desk import Desk
from demo.shop.manners import Manners, Visit
from demo.shop.sessions import Sessions

SESSION_COOKIE = "shop_session"
REMEMBER_COOKIE = "shop_remember"


@dataclass
class Shop:
    """What all pages share. Without `passwords` any name may log in with "koala-" and the name."""

    book: OrderBook
    sessions: Sessions
    passwords: Mapping[str, str] = field(default_factory=dict)
    catalogue: Catalogue = field(default_factory=Catalogue)
    manners: Manners = field(default_factory=Manners)

    def __post_init__(self) -> None:
        self.desk = Desk(self.book, self.manners)

    @classmethod
    def open(cls, directory: Path, passwords: Mapping[str, str]) -> Shop:
        """The shop whose files lie in the directory, which is made if need be.

        Raises BlockingIOError when another shop has it open.
        """
        directory.mkdir(parents=True, exist_ok=True)
        shop = cls(OrderBook(directory / "orders.jsonl"), Sessions(directory), passwords)
        shop.book.open_for_writing()
        shop.sessions.open_for_writing()
        return shop

    def admits(self, user: str, password: str) -> bool:
        """Whether this is the password of that user."""
        right = self.passwords.get(user, "") if self.passwords else f"koala-{user}"
        return bool(user and right) and hmac.compare_digest(right.encode(), password.encode())

    def user(self, request: HTTPConnection) -> str | None:
        """Who is logged in: only when both cookies are there and belong to one login."""
        session = self.sessions.by_session(request.cookies.get(SESSION_COOKIE, ""))
        remember = self.sessions.by_remember(request.cookies.get(REMEMBER_COOKIE, ""))
        return session.user if session is not None and session is remember else None

    def read_price(self, sku: str, path: str, user: str) -> str:
        """The price as a reader sees it, who may be the one before whose eyes it moves."""
        if rule := self.manners.take("price_moves", Visit(path, user, sku=sku)):
            self.catalogue.move_price(sku, rule.by)
        return self.catalogue.price(sku)

    def account_book(self) -> dict[str, Any]:
        """What a judge wants to know, as JSON: the orders, and what is not in the book (yet)."""
        return {
            "orders": [order.record() for order in self.book.orders()],
            "references": self.book.references(),
            "pending": [order.record() for order in self.desk.pending.values()],
            "arrivals": self.desk.arrivals,
            "logins": self.sessions.count(),
        }


def shop_of(request: HTTPConnection) -> Shop:
    """The shop that a request came to."""
    shop: Shop = request.app.state.shop
    return shop
