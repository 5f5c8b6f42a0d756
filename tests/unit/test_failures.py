"""What a task says when its workflow failed, and which failures are its last."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from koala import ABSENT, Limits, Permanent, Run, seconds, workflow
from koala.errors import InvalidArguments, told
from koala.testing import trial


class NoSuchArticle(Permanent):
    """An author's own."""


@pytest.mark.parametrize("error", [Permanent("no such article"), NoSuchArticle("mug"), InvalidArguments("no sku")])
@pytest.mark.parametrize("inside", ["step", "workflow"])
async def test_what_is_permanent_is_not_tried_again(error: Exception, inside: str) -> None:
    runs = []

    def fail() -> None:
        raise error

    @workflow("shop.hopeless", limits=Limits(attempts=3))
    async def hopeless(run: Run, args: Any) -> None:
        runs.append(1)
        await run.step("look", fail) if inside == "step" else fail()

    async with trial(hopeless) as tried:
        ended = await tried.finish()
        assert (ended.status, ended.reason) == ("failed", told(error))
        assert len(runs) == 1


async def test_anything_else_is_tried_as_often_as_its_limits_say() -> None:
    runs = []

    @workflow("shop.unlucky", limits=Limits(attempts=3))
    async def unlucky(run: Run, args: Any) -> None:
        runs.append(1)
        raise ValueError

    async with trial(unlucky) as tried:
        ended = await tried.finish()
        assert (ended.status, ended.reason, len(runs)) == ("failed", "ValueError", 3)


async def test_an_act_that_took_too_long_is_unknown_for_that_reason() -> None:
    async def slow(op: Any) -> None:
        await asyncio.Event().wait()

    async def impatient(op: Any) -> None:
        raise TimeoutError

    said = {}
    for do in (slow, impatient):

        @workflow("shop.slow")
        async def order(run: Run, args: Any, do: Any = do) -> Any:
            times = {"timeout": seconds(0.05), "settle": seconds(1)}
            return await run.effect("order", do=do, confirm=lambda op: ABSENT, **times)

        async with trial(order) as tried:
            said[do] = (await tried.run()).reason
    assert said[slow].endswith("is unknown: `do` took longer than its timeout of 0.05 s")
    assert said[impatient].endswith("is unknown: TimeoutError: a time limit passed")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (TimeoutError(), "TimeoutError: a time limit passed"),
        (TimeoutError("the page"), "TimeoutError: the page"),
    ],
)
def test_an_error_without_words_is_told_by_what_it_means(error: Exception, text: str) -> None:
    assert told(error) == text
