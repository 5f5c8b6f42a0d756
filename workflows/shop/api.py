"""Ordering through the shop's API, without a browser."""

from __future__ import annotations

from typing import Any

import httpx2 as httpx

from koala import ABSENT, Limits, Operation, Run, minutes, over, seconds, usd, workflow
from workflows.shop.arguments import OrderArgs


@workflow("shop.order_by_api", args=OrderArgs, profile="optional", limits=Limits(runtime=minutes(3), attempts=5))
async def order_by_api(run: Run, args: OrderArgs) -> dict[str, Any]:
    """Read the price, then order once under our reference."""

    async def read_price() -> str:
        async with httpx.AsyncClient(base_url=args.shop, timeout=10) as client:
            answer = await client.get(f"/api/price/{args.sku}")
            answer.raise_for_status()
            return str(answer.json()["price"])

    async def place(op: Operation) -> dict[str, Any]:
        async with httpx.AsyncClient(base_url=args.shop, timeout=args.act_s + 5) as client:
            body = {"user": args.user, "sku": args.sku, "reference": args.reference, "price": price}
            answer = await client.post("/api/orders", json=body)
            answer.raise_for_status()
            return {"order": answer.json()["id"], "sku": args.sku, "price": price}

    async def find(op: Operation) -> Any:
        async with httpx.AsyncClient(base_url=args.shop, timeout=5) as client:
            answer = await client.get("/api/orders", params={"reference": args.reference})
            answer.raise_for_status()
            found = answer.json()["orders"]
        return {"order": found[0]["id"], "sku": args.sku, "price": price} if found else ABSENT

    price = await run.step("read_price", read_price)
    receipt = await run.effect(
        "place_order",
        key=args.reference,
        describe={"sku": args.sku, "price": price, "reference": args.reference},
        do=place,
        confirm=find,
        review=over(usd(args.ask_over)),
        timeout=seconds(args.act_s),
        settle=seconds(args.settle_s),
    )
    await run.progress(1, 1, "ordered")
    return dict(receipt)
