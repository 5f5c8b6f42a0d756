"""Workflows for tests in a browser: an order that stops at gates, and an agent whose clicks are guarded."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Page

from koala import Limits, Operation, Run, minutes, seconds, workflow
from tests.support.workflows import Errand
from workflows.roundup import issue as roundup
from workflows.roundup.issue import IssueArgs
from workflows.shop.arguments import OrderArgs
from workflows.shop.browser import find, is_logged_in, log_in, place, read_price

LIMITS = Limits(runtime=minutes(2), attempts=5)


class Browse(Errand):
    """An errand in a browser."""

    user: str = "ann"
    patience_s: float = 30
    """How long a page may take."""

    def order(self) -> OrderArgs:
        """What the shop's own workflow would be given."""
        return OrderArgs(shop=self.shop, user=self.user, sku="MUG-1", reference=self.reference)


@workflow("test.browse", args=Browse, profile="optional", limits=LIMITS)
async def browse(run: Run, args: Browse) -> dict[str, Any]:
    """Order one mug; gates: `step` in the step, `act` before and `acted` after the click.

    The result is the receipt, with what the login left in the page's local storage.
    """
    order = args.order()
    page = await run.page()
    page.set_default_timeout(args.patience_s * 1000)
    if not await is_logged_in(page, args.shop):
        await log_in(page, order)
        await page.evaluate("localStorage.setItem('user', 'ann')")

    async def price() -> str:
        found = await read_price(page, order)
        await args.gate("step")
        await page.title()
        return found

    async def act(op: Operation) -> dict[str, Any]:
        await args.gate("act")
        receipt = await place(page, order, op, "12.50")
        await args.gate("acted")
        return receipt

    await run.step("price", price)
    receipt = await run.effect(
        "place_order",
        key=args.reference,
        describe={"reference": args.reference},
        do=act,
        confirm=lambda op: find(page, order, "12.50"),
        timeout=seconds(args.act_s),
        settle=seconds(args.settle_s),
    )
    if not page.url.startswith(args.shop):  # the order was placed by an earlier attempt, this one has been nowhere
        await page.goto(args.shop)
    return {**receipt, "stored": await page.evaluate("localStorage.getItem('user')")}


@workflow("test.guarded", args=Browse, limits=LIMITS)
async def guarded(run: Run, args: Browse) -> str:
    """An agent that clicks what it likes: what the page says after it tried to order outside an effect."""
    await run.guard("127.0.0.1")
    page = await run.page()
    await page.goto(f"{args.shop}/product/MUG-1")
    await page.get_by_role("button", name="Add to cart").click()
    return await _body(page)


async def _body(page: Page) -> str:
    return (await page.locator("body").inner_text())[:300]


class Report(Errand):
    """An issue for a tracker; `shop` is the tracker's address."""

    def issue(self) -> IssueArgs:
        """What the tracker's own workflow would be given."""
        return IssueArgs(tracker=self.shop, title="It smells of eucalyptus", reference=self.reference)


@workflow("test.report", args=Report, profile="optional", limits=LIMITS)
async def report(run: Run, args: Report) -> dict[str, Any]:
    """Roundup's own workflow, with the gate `submitted` between the submit and the receipt."""
    issue = args.issue()
    page = await run.page()
    await roundup.log_in(run, page, issue)

    async def act(op: Operation) -> dict[str, str]:
        receipt = await roundup.create(page, issue)
        await args.gate("submitted")
        return receipt

    receipt = await run.effect(
        "create_issue",
        key=args.reference,
        do=act,
        confirm=lambda op: roundup.find(run, page, issue),
        timeout=seconds(args.act_s),
        settle=seconds(args.settle_s),
    )
    return dict(receipt)


@workflow("test.leaves", args=Browse, limits=Limits(runtime=minutes(1), attempts=1))
async def leaves(run: Run, args: Browse) -> None:
    """Opens a page, then raises what ends programs."""
    await run.page()
    raise SystemExit(args.reference)
