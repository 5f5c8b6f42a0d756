"""Ordering in a browser, as a person would: with a login that lives in a profile."""

from __future__ import annotations

import re
from typing import Any

from playwright.async_api import Page

from koala import ABSENT, Limits, Operation, Run, minutes, over, seconds, usd, workflow
from workflows.shop.arguments import LoginArgs, NewsArgs, OrderArgs

LIMITS = Limits(runtime=minutes(3), attempts=5)


async def is_logged_in(page: Page, shop: str) -> bool:
    """Whether the shop knows this browser: by both of its cookies."""
    answer = await page.request.get(f"{shop}/me")
    return bool((await answer.json())["user"])


async def log_in(page: Page, args: LoginArgs) -> str:
    """Log in through the form, unless we are; says which it was."""
    if await is_logged_in(page, args.shop):
        return "was logged in"
    await page.goto(f"{args.shop}/login")
    await page.get_by_label("User name").fill(args.user)
    await page.get_by_label("Password").fill(f"koala-{args.user}")
    await page.get_by_role("button", name="Log in").click()
    await page.wait_for_url(re.compile(r"^(?!.*/login)"))
    return "logged in"


@workflow("shop.login", args=LoginArgs, profile="required", limits=LIMITS)
async def login(run: Run, args: LoginArgs) -> str:
    """Log the profile in."""
    page = await run.page()
    return str(await run.step("log_in", lambda: log_in(page, args)))


@workflow("shop.order", args=OrderArgs, profile="required", limits=LIMITS)
async def order(run: Run, args: OrderArgs) -> dict[str, Any]:
    """Look the price up, then order once under our reference."""
    page = await run.page()
    if not await is_logged_in(page, args.shop):
        await run.log("the login is gone", user=args.user)
        await log_in(page, args)
    price = await run.step("read_price", lambda: read_price(page, args))
    receipt = await run.effect(
        "place_order",
        key=args.reference,
        describe={"sku": args.sku, "price": price, "reference": args.reference},
        do=lambda op: place(page, args, op, price),
        confirm=lambda op: find(page, args, price),
        review=over(usd(args.ask_over)),
        timeout=seconds(args.act_s),
        settle=seconds(args.settle_s),
    )
    await run.progress(1, 1, "ordered")
    return dict(receipt)


async def read_price(page: Page, args: OrderArgs) -> str:
    """The price on the product's page."""
    await page.goto(f"{args.shop}/product/{args.sku}")
    return str(await page.locator("#price").get_attribute("data-price"))


async def place(page: Page, args: OrderArgs, op: Operation, price: str) -> dict[str, Any]:
    """Buy it now, and refuse a price that is not the one that was described."""
    await page.goto(f"{args.shop}/product/{args.sku}")
    if await page.locator("#price").get_attribute("data-price") != price:
        raise ValueError(f"the price is not {price} any more")
    await page.get_by_role("button", name="Buy now").click()
    await page.get_by_label("Your reference (optional)").fill(args.reference)
    await page.get_by_role("button", name="Place order").click()
    await page.wait_for_url(re.compile(r"/orders/[^/]+$"))
    return {"order": await page.locator("#order-id").inner_text(), "sku": args.sku, "price": price}


async def find(page: Page, args: OrderArgs, price: str) -> Any:
    """The order with our reference in the order list; ABSENT when the list says that it has none."""
    await page.goto(f"{args.shop}/orders?reference={args.reference}")
    if "/login" in page.url:
        await log_in(page, args)
        await page.goto(f"{args.shop}/orders?reference={args.reference}")
    rows = page.locator(f'tr[data-reference="{args.reference}"]')
    if await rows.count():
        number = await rows.first.get_attribute("data-order-id")
        return {"order": number, "sku": args.sku, "price": price}
    await page.get_by_text("No order carries this reference.").wait_for(timeout=5000)
    return ABSENT


@workflow("shop.news", args=NewsArgs, limits=LIMITS)
async def news(run: Run, args: NewsArgs) -> list[str]:
    """The headlines of one page; needs no login and has no effect."""

    async def read() -> list[str]:
        page = await run.page()
        await page.goto(f"{args.shop}/news?n={args.n}")
        return list(await page.get_by_role("heading").all_inner_texts())

    headlines = await run.step("read", read)
    return [str(headline) for headline in headlines]
