"""Workflows for tests: orders by HTTP that stop at gates, and workflows that behave badly.

A gate is a file: whoever reaches NAME makes `NAME.reached` in the task's folder and waits for `NAME.open`; only gates
that are named in `gates` are there.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from functools import partial
from pathlib import Path
from typing import Any

import httpx2 as httpx
from pydantic import BaseModel, ConfigDict

from koala import ABSENT, Limits, Operation, Run, minutes, seconds, workflow
from koala.signals import AskReview, Cancel, Snooze

LIMITS = Limits(runtime=minutes(2), attempts=5)


class Errand(BaseModel):
    """What every workflow here is given."""

    model_config = ConfigDict(extra="forbid")

    shop: str
    reference: str
    folder: str
    gates: list[str] = []
    settle_s: float = 0.5
    act_s: float = 60.0
    steps: int = 1
    effects: int = 1
    key: str = ""
    """The effect's key; the reference when empty."""
    times: int = 1
    """How often it misbehaves, over all attempts."""
    where: str = "step"
    what: str = ""
    approve: bool = False

    def turn(self, name: str = "turn") -> int:
        """Which call of this name it is, over all attempts of the task; from 1."""
        number = 1
        while True:
            try:
                (Path(self.folder) / f"{name}-{number}").touch(exist_ok=False)
                return number
            except FileExistsError:
                number += 1

    def is_open(self, name: str) -> bool:
        """Whether the test has opened this gate."""
        return (Path(self.folder) / f"{name}.open").exists()

    async def gate(self, name: str) -> None:
        """Wait until the test opens it."""
        if name not in self.gates:
            return
        (Path(self.folder) / f"{name}.reached").touch()
        while not self.is_open(name):  # noqa: ASYNC110 - the test is another process, its word is a file
            await asyncio.sleep(0.02)


async def post(args: Errand, reference: str) -> dict[str, Any]:
    """Order at the shop."""
    async with httpx.AsyncClient(base_url=args.shop, timeout=60) as client:
        body = {"user": "ann", "sku": "MUG-1", "reference": reference}
        answer = await client.post("/api/orders", json=body)
        answer.raise_for_status()
        return {"order": answer.json()["id"]}


async def find(args: Errand, reference: str) -> Any:
    """The order, or ABSENT."""
    async with httpx.AsyncClient(base_url=args.shop, timeout=60) as client:
        answer = await client.get("/api/orders", params={"reference": reference})
        answer.raise_for_status()
        found = answer.json()["orders"]
    return {"order": found[0]["id"]} if found else ABSENT


async def read_price(args: Errand) -> str:
    """What a lamp costs now."""
    async with httpx.AsyncClient(base_url=args.shop, timeout=60) as client:
        answer = await client.get("/api/price/LAMP-1")
        answer.raise_for_status()
        return str(answer.json()["price"])


async def place(run: Run, args: Errand, reference: str, **more: Any) -> Any:
    """The order as an effect, with a gate before the act (`act`), after it (`acted`) and before each look (`look`)."""

    async def do(op: Operation) -> Any:
        await args.gate("act")
        receipt = await post(args, reference)
        await args.gate("acted")
        return receipt

    async def confirm(op: Operation) -> Any:
        await args.gate("look")
        return await find(args, reference)

    given = {"do": do, "confirm": confirm, "describe": {"reference": reference}, "key": args.key or reference}
    times = {"timeout": seconds(args.act_s), "settle": seconds(args.settle_s)}
    return await run.effect("place_order", **{**given, **times, **more})


@workflow("test.order", args=Errand, profile="optional", limits=LIMITS)
async def order(run: Run, args: Errand) -> list[Any]:
    """Steps, then effects, each with its number in its reference. What `price`: a lamp's price describes them."""

    async def step(number: int) -> int:
        await args.gate(f"step{number}")
        return number

    for number in range(args.steps):
        await run.step(f"step{number}", partial(step, number))
    names = [args.reference, *(f"{args.reference}-{number}" for number in range(1, args.effects))]
    price = {"price": await read_price(args)} if args.what == "price" else {}
    more = [{"review": args.approve, "describe": {"reference": name, **price}} for name in names]
    receipts = [await place(run, args, name, **each) for name, each in zip(names, more, strict=True)]
    await run.progress(len(names), len(names), "ordered")
    await args.gate("end")
    return receipts


@workflow("test.exits", args=Errand, limits=LIMITS)
async def exits(run: Run, args: Errand) -> Any:
    """Ends its own process: in a step, in an act before the request (`before`) or after it, in a `look`.

    What `blind`: confirm cannot tell.
    """

    def leave(where: str) -> None:
        if where in args.where.split() and args.turn() <= args.times:
            os._exit(9)

    async def do(op: Operation) -> Any:
        leave("before")
        receipt = await post(args, args.reference)
        leave("after")
        return receipt

    async def confirm(op: Operation) -> Any:
        leave("look")
        if args.what == "blind":
            raise LookupError("it cannot see")
        return await find(args, args.reference)

    await run.step("one", lambda: leave("step"))
    return await place(run, args, args.reference, do=do, confirm=confirm)


@workflow("test.hang", args=Errand, limits=LIMITS)
async def hang(run: Run, args: Errand) -> Any:
    """Blocks its event loop for ever: in a step, in an act after the request, or at its end."""

    def block(where: str) -> None:
        while args.where == where and args.turn() <= args.times:
            (Path(args.folder) / "hangs.reached").touch()
            time.sleep(3600)

    async def do(op: Operation) -> Any:
        receipt = await post(args, args.reference)
        block("act")
        return receipt

    await run.step("one", lambda: block("step"), timeout=seconds(1))
    receipt = await place(run, args, args.reference, do=do)
    block("end")
    return receipt


@workflow("test.no_confirm", args=Errand, limits=LIMITS)
async def no_confirm(run: Run, args: Errand) -> Any:
    """An effect without confirm."""
    return await place(run, args, args.reference, confirm=None)


@workflow("test.blind", args=Errand, limits=LIMITS)
async def blind(run: Run, args: Errand) -> Any:
    """Its confirm cannot tell until the gate `sight` is open."""

    async def confirm(op: Operation) -> Any:
        if not args.is_open("sight"):
            raise LookupError("it cannot see")
        return await find(args, args.reference)

    return await place(run, args, args.reference, confirm=confirm)


@workflow("test.forgets", args=Errand, limits=LIMITS)
async def forgets(run: Run, args: Errand) -> str:
    """Comes to its effect in the first attempt, and when the gate `mind` is open."""
    if args.turn() == 1 or args.is_open("mind"):
        await place(run, args, args.reference)
    return "ended"


@workflow("test.raises", args=Errand, limits=Limits(runtime=minutes(1), attempts=2))
async def raises(run: Run, args: Errand) -> Any:
    """Fails, at each place so many times: in a step, or in the act before the request or after it."""

    def fail(where: str) -> None:
        if where in args.where.split() and args.turn(where) <= args.times:
            raise ValueError(f"it fails in {where}")

    async def do(op: Operation) -> Any:
        fail("before")
        receipt = await post(args, args.reference)
        fail("after")
        return receipt

    await run.step("one", lambda: fail("step"))
    return await place(run, args, args.reference, do=do)


@workflow("test.signals", args=Errand, limits=LIMITS)
async def signals(run: Run, args: Errand) -> str:
    """Snoozes once, cancels, or asks a person."""
    if args.what == "snooze" and args.turn() == 1:
        raise Snooze(0.5, "later is better")
    if args.what == "cancel":
        raise Cancel("it is not needed")
    if args.what == "ask" and not await run.approved("terms", {"reference": args.reference}):
        raise AskReview("terms", {"reference": args.reference}, "are these good terms?")
    return args.what


@workflow("test.leaks", args=Errand, limits=Limits(runtime=minutes(1), attempts=2))
async def leaks(run: Run, args: Errand) -> Any:
    """Puts a secret wherever an author could by mistake; `key` says which."""
    secret = run.secret(args.key)
    value = secret.reveal()
    print(f"printed {value}", flush=True)
    await run.log(f"logged {value}", token=value, data={"value": value, value: 1})
    await run.progress(1, 2, f"shown {value}")
    await run.step("one", lambda: {"result": value, "secret": str(secret), "within": json.dumps({"value": value})})
    if args.what == "error":
        raise ValueError(f"no login with {value} at https://ann:{value}@shop.example/?p={value}")
    if args.what == "ask" and not await run.approved("terms", {"value": value}):
        raise AskReview("terms", {"value": value}, f"is {value} good?")

    async def do(op: Operation) -> Any:
        return {**await post(args, args.reference), "value": value, "number": 179}

    key = args.reference
    if args.what == "names":
        await run.step(f"step {value}", lambda: 1)
        key = f"cart of {value}"
    return await place(run, args, args.reference, do=do, key=key, describe={"ref": args.reference, "value": value})
