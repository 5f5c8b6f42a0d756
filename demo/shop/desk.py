"""Where orders come in, and where most of the bad manners are."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from functools import partial

from demo.shop.book import OrderBook
from demo.shop.manners import Manners, Rule, Visit
from demo.shop.order import Order

Take = Callable[[str], Rule | None]


class Outcome(Enum):
    """What the customer gets to see of an order."""

    ANSWERED = "answered"
    FAILED = "failed"
    CUT = "cut"
    CUT_BARE = "cut bare"


class Desk:
    """Enters orders in the book, at once or late.

    What it has accepted it enters whether or not the customer still waits, as a real back office does.
    """

    def __init__(self, book: OrderBook, manners: Manners) -> None:
        self._book = book
        self._manners = manners
        self._closing = asyncio.Event()
        self._entering: set[asyncio.Task[None]] = set()
        self.arrivals: Counter[str] = Counter()
        self.pending: dict[str, Order] = {}

    async def place(self, order: Order, path: str) -> Outcome:
        """Deal with one order that came in at `path`. Every call is counted in `arrivals`, stored or not."""
        self.arrivals[order.reference] += 1
        take = partial(self._manners.take, visit=Visit(path, order.user, order.reference, order.sku))
        if take("error_before_store"):
            return Outcome.FAILED
        if rule := take("cut_before_order"):
            return _cut(rule)
        await self._store(order, take)
        return await self._answer(take)

    async def pause(self, ms: int) -> None:
        """Wait so long, or until the shop closes."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closing.wait(), ms / 1000)

    def close(self) -> None:
        """End every pause, also those to come. Only from the event loop's thread."""
        self._closing.set()

    async def finish(self) -> None:
        """Enter what is still waiting to be entered; returns when it is in the book."""
        self.close()
        await asyncio.gather(*self._entering)

    async def _store(self, order: Order, take: Take) -> None:
        if rule := take("slow_store_ms"):
            await asyncio.shield(self._enter_later(order, rule.ms))
        elif rule := take("store_late_ms"):
            _ = self._enter_later(order, rule.ms)
        else:
            self._book.append(order)

    async def _answer(self, take: Take) -> Outcome:
        if rule := take("slow_answer_ms"):
            await self.pause(rule.ms)
        if rule := take("cut_after_order"):
            return _cut(rule)
        return Outcome.FAILED if take("error_after_store") else Outcome.ANSWERED

    def _enter_later(self, order: Order, ms: int) -> asyncio.Task[None]:
        self.pending[order.id] = order
        task = asyncio.create_task(self._enter_after(order, ms))
        self._entering.add(task)
        task.add_done_callback(self._entering.discard)
        return task

    async def _enter_after(self, order: Order, ms: int) -> None:
        await self.pause(ms)
        self._book.append(order)
        del self.pending[order.id]


def _cut(rule: Rule) -> Outcome:
    return Outcome.CUT_BARE if rule.bare else Outcome.CUT
