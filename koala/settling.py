"""What has to be over before a `sent` of an earlier attempt may be called absent, by `confirm` or by a person."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from koala import endings
from koala.signals import End

if TYPE_CHECKING:
    from koala.endings import Ending
    from koala.ports import Browser, Parent


async def prove(parent: Parent, browser: Browser, operation: str) -> None:
    """Everyone who could still act on it is gone. Raises End (parked) naming who may not be."""
    reply = await parent.call("prove", operation=operation, own_lock=browser.locks()["b"])
    if not reply["ok"]:
        raise End("parked", f"old holder alive: {reply['reason']}", wait="old holder")


async def wait(parent: Parent, operation: str, settle_s: float) -> None:
    """Until a look that begins now may say absent: `settle_s` after the proof. Raises End (parked) on a drain."""
    while True:
        reply = await parent.call("begin_look", operation=operation, settle_s=settle_s)
        if reply["ok"]:
            return
        if parent.leaving.is_set():
            raise End("parked", "the worker drains while an effect of an earlier attempt settles")
        with suppress(TimeoutError):
            async with asyncio.timeout(reply["wait_s"]):
                await parent.leaving.wait()


async def left_open(parent: Parent, browser: Browser) -> Ending | None:
    """After a workflow returned: the quiet question about an effect that it did not come back to; None without one.

    An effect of this very attempt that is open cannot be proved over from inside: that attempt has to end first.
    """
    opened = (await parent.call("open"))["open"]
    for operation, sent in opened.items():
        await prove(parent, browser, operation)
        await wait(parent, operation, float(sent.get("settle_s") or 0))
    return endings.unsettled(opened, quiet=True)
