"""The same work without Koala: one process, Playwright or an HTTP client, one thing after the other.

    python -m bench.bare pages|orders|profiles SHOP NUMBER DIRECTORY

Prints seconds for all NUMBER, and the most memory that it and its browser held (PSS, MB), as JSON.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import httpx2 as httpx
from playwright.async_api import async_playwright

from koala import Operation
from worker.browser import find_browsers
from worker.processes import memory_megabytes, this, tree
from workflows.shop.arguments import OrderArgs
from workflows.shop.browser import log_in, place, read_price

NO_SANDBOX = ["--no-sandbox"]


async def pages(shop: str, number: int, directory: Path) -> int:
    """A fresh context and a page each, in one headless shell."""
    async with async_playwright() as playwright:
        shell = find_browsers().for_throw_away()
        browser = await playwright.chromium.launch(executable_path=shell, args=NO_SANDBOX)
        for item in range(number):
            context = await browser.new_context()
            page = await context.new_page()
            await page.goto(f"{shop}/news?n={item + 1}")
            await page.get_by_role("heading").all_inner_texts()
            await context.close()
        held = memory_megabytes(tree(this()))
        await browser.close()
    return held


async def orders(shop: str, number: int, directory: Path) -> int:
    """A price and an order each, over HTTP."""
    for item in range(number):
        async with httpx.AsyncClient(base_url=shop) as client:
            price = (await client.get("/api/price/MUG-1")).json()["price"]
            body = {"user": "bare", "sku": "MUG-1", "reference": f"bare-{item}", "price": price}
            (await client.post("/api/orders", json=body)).raise_for_status()
    return memory_megabytes(tree(this()))


async def profiles(shop: str, number: int, directory: Path) -> int:
    """Full Chromium opened on a profile, an order in it, and closed, each."""
    held = 0
    async with async_playwright() as playwright:
        full = find_browsers().for_profile()
        for item in range(number):
            args = OrderArgs(shop=shop, user="bare", sku="MUG-1", reference=f"bare-profile-{item}")
            context = await playwright.chromium.launch_persistent_context(
                directory / "profile", executable_path=full, args=NO_SANDBOX
            )
            page = context.pages[0]
            await log_in(page, args)
            price = await read_price(page, args)
            await place(page, args, Operation("bare", "bare", 1), price)
            held = max(held, memory_megabytes(tree(this())))
            await context.close()
    return held


WORK: dict[str, Callable[[str, int, Path], Coroutine[Any, Any, int]]] = {
    "pages": pages,
    "orders": orders,
    "profiles": profiles,
}


def main() -> None:
    """Do it once and say how long it took."""
    what, shop, number, directory = sys.argv[1:]
    began = time.monotonic()
    held = asyncio.run(WORK[what](shop, int(number), Path(directory)))
    print(json.dumps({"seconds": time.monotonic() - began, "megabytes": held}))


if __name__ == "__main__":
    main()
