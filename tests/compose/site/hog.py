"""Workflows of an author's own: a page that wants too much memory, and one that goes where it is told."""

from __future__ import annotations

from pathlib import Path

from playwright.async_api import Error, Page
from pydantic import BaseModel

from koala import Limits, Run, minutes, seconds, workflow

LIMITS = Limits(runtime=minutes(2), attempts=5)

EAT = """async () => {
    window.eaten = [];
    for (;;) {
        eaten.push(new Uint8Array(32 << 20).fill(7));
        await new Promise(go => setTimeout(go, 20));
    }
}"""

SOCKET = """address => new Promise(tell => {
    const socket = new WebSocket(address);
    socket.onopen = () => tell('open');
    socket.onerror = () => tell('refused');
})"""


class HogArgs(BaseModel):
    """Where its first attempt leaves a note, so that the next one is modest."""

    note: str


@workflow("test.hog", args=HogArgs, limits=LIMITS)
async def hog(run: Run, args: HogArgs) -> str:
    """Eat until the kernel ends the page, the first time; afterwards be content."""

    async def eat() -> str:
        page = await run.page()
        if not Path(args.note).exists():
            Path(args.note).touch()
            await page.evaluate(EAT)
        return "content"

    return str(await run.step("eat", eat, timeout=seconds(60)))


class VisitArgs(BaseModel):
    """Where a page goes, one address after another."""

    addresses: list[str]


@workflow("test.visit", args=VisitArgs, profile="optional", limits=LIMITS)
async def visit(run: Run, args: VisitArgs) -> list[str]:
    """What a page gets at each address: a status, or the browser's error."""
    page = await run.page()
    return [
        str(await run.step(f"visit_{number}", lambda to=to: _goes(page, to)))
        for number, to in enumerate(args.addresses)
    ]


async def _goes(page: Page, address: str) -> str:
    if address.startswith("ws"):
        return str(await page.evaluate(SOCKET, address))
    try:
        answer = await page.goto(address, timeout=20_000)
    except Error as error:
        return error.message.split("\n", 1)[0]
    return str(answer.status if answer else "")
