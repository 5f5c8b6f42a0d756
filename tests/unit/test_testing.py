"""`koala.testing`: an author proves a workflow without a pool: its steps, its effect, its confirm, its questions."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import Any

import pytest
from pydantic import BaseModel

from koala import ABSENT, AskReview, Limits, Run, Secret, Snooze, over, seconds, usd, workflow
from koala.errors import InvalidArguments, Refused
from koala.testing import MemoryStoreMissing, NoPage, crash, memory_store, trial


@dataclass
class World:
    """What the workflows below act on, and how they were used."""

    orders: list[str] = field(default_factory=list)
    reads: int = 0
    looks: int = 0
    broken: bool = False
    blind: bool = False


WORLD = World()


@pytest.fixture(autouse=True)
def world() -> World:
    WORLD.__init__()  # type: ignore[misc]
    return WORLD


class Args(BaseModel):
    reference: str = "r1"
    price: str = "5"


@workflow("shop.order", args=Args, limits=Limits(attempts=2))
async def order(run: Run, args: Args) -> dict[str, Any]:
    def read() -> str:
        WORLD.reads += 1
        return args.price

    def place(op: Any) -> dict[str, str]:
        WORLD.orders.append(args.reference)
        if WORLD.broken:
            raise ConnectionError("the answer was lost")
        return {"order": args.reference}

    def find(op: Any) -> Any:
        WORLD.looks += 1
        if WORLD.blind:
            raise LookupError("logged out")
        return {"order": args.reference} if args.reference in WORLD.orders else ABSENT

    price = await run.step("read_price", read)
    receipt = await run.effect(
        "place_order",
        key=args.reference,
        describe={"price": price},
        do=place,
        confirm=find,
        review=over(usd("20")),
        timeout=seconds(5),
        settle=seconds(3600),
    )
    return dict(receipt)


class TestCrashes:
    async def test_before_the_act_it_is_done_by_the_next_attempt(self, world: World) -> None:
        """Promise 3."""
        async with trial(order) as tried:
            ended = await tried.run(crash=crash.before_act("place_order"))
            assert (ended.status, world.orders) == ("ready", [])
            ended = await tried.run()
            assert (ended.status, ended.result, world.orders) == ("done", {"order": "r1"}, ["r1"])
            assert [entry.try_ for entry in tried.effects] == [2]

    async def test_after_the_act_its_confirm_finds_it(self, world: World) -> None:
        """Promise 3."""
        async with trial(order) as tried:
            await tried.run(crash=crash.after_act())
            assert world.orders == ["r1"]
            assert (await tried.run()).status == "done"
            assert (world.orders, world.looks) == (["r1"], 1)
            assert [entry.how for entry in tried.effects] == ["confirm"]

    async def test_after_the_receipt_nothing_is_done_or_looked_for_again(self, world: World) -> None:
        """Promise 3."""
        async with trial(order) as tried:
            await tried.run(crash=crash.after_receipt())
            assert (await tried.run()).status == "done"
            assert (world.orders, world.looks) == (["r1"], 0)

    async def test_a_confirm_that_is_wrong_is_found_out(self, world: World) -> None:
        @workflow("shop.forgetful")
        async def forgetful(run: Run, args: Any) -> Any:
            return await run.effect(
                "place",
                do=lambda op: world.orders.append("x") or "placed",
                confirm=lambda op: ABSENT,
                timeout=seconds(1),
                settle=seconds(1),
            )

        async with trial(forgetful) as tried:
            await tried.run(crash=crash.after_act())
            await tried.run()
        assert len(world.orders) == 2

    async def test_in_a_step_it_is_done_again_and_after_it_not(self, world: World) -> None:
        async with trial(order) as tried:
            await tried.run(crash=crash.in_step("read_price"))
            await tried.run(crash=crash.after_step("read_price"))
            assert world.reads == 2
            assert (await tried.run()).status == "done"
            assert world.reads == 2

    async def test_three_of_them_are_enough(self) -> None:
        async with trial(order) as tried:
            for _ in range(3):
                await tried.run(crash=crash.in_step())
            assert tried.task.status == "dead"
            with pytest.raises(Refused, match="dead"):
                await tried.run()

    async def test_one_that_is_never_reached_fails_the_test(self) -> None:
        async with trial(order) as tried:
            with pytest.raises(AssertionError, match="never came to"):
                await tried.run(crash=crash.after_act("another_effect"))


class TestQuestions:
    async def test_an_approval_is_for_what_was_described(self, world: World) -> None:
        async with trial(order, {"price": "50"}) as tried:
            assert (await tried.run()).status == "review"
            assert tried.question
            assert (tried.question.kind, tried.question.description) == ("approval", {"price": "50"})
            with pytest.raises(Refused, match="waits for an answer"):
                await tried.run()
            tried.approve()
            assert (await tried.finish()).status == "done"
        assert world.orders == ["r1"]

    async def test_rejected_it_is_not_done(self, world: World) -> None:
        async with trial(order, {"price": "50"}) as tried:
            await tried.run()
            tried.reject()
            assert (tried.task.status, world.orders) == ("cancelled", [])

    @pytest.mark.parametrize(("answer", "orders"), [("happened", 1), ("did_not_happen", 2)])
    async def test_what_confirm_cannot_tell_a_person_does(self, world: World, answer: str, orders: int) -> None:
        async with trial(order) as tried:
            await tried.run(crash=crash.after_act())
            world.blind = True
            assert (await tried.run()).status == "review"
            tried.answer(answer)
            world.blind = False
            assert (await tried.finish()).status == "done"
        assert len(world.orders) == orders

    async def test_one_that_the_workflow_asks_itself(self) -> None:
        @workflow("shop.asks")
        async def asks(run: Run, args: Any) -> str:
            if not await run.approved("captcha"):
                raise AskReview("captcha", reason="there is a captcha")
            return "solved"

        async with trial(asks) as tried:
            assert (await tried.run()).status == "review"
            tried.approve()
            assert (await tried.run()).result == "solved"


class TestEndings:
    async def test_an_unknown_outcome_is_looked_for_by_the_next_attempt(self, world: World) -> None:
        """Promise 3."""
        world.broken = world.blind = True
        async with trial(order) as tried:
            ended = await tried.run()
            assert (ended.status, "unknown" in ended.reason) == ("later", True)
            world.blind = False
            assert (await tried.finish()).status == "done"
        assert world.orders == ["r1"]

    async def test_a_failure_is_kept_with_its_traceback(self) -> None:
        @workflow("shop.fails", limits=Limits(attempts=2))
        async def fails(run: Run, args: Any) -> None:
            raise ValueError("no such page")

        async with trial(fails) as tried:
            ended = await tried.finish()
            assert (ended.status, ended.error) == ("failed", "ValueError: no such page")
            assert isinstance(tried.raised, ValueError)
            assert tried.task.attempts == 2

    async def test_a_snooze_is_over_at_once(self) -> None:
        @workflow("shop.sleeps")
        async def sleeps(run: Run, args: Any) -> str:
            if await run.step("first", lambda: WORLD.reads) == WORLD.reads:
                WORLD.reads += 1
                raise Snooze(3600, "the shop is closed")
            return "awake"

        async with trial(sleeps) as tried:
            ended = await tried.run()
            assert (ended.status, ended.reason) == ("later", "the shop is closed")
            assert (await tried.run()).result == "awake"

    async def test_a_pause_stops_it_before_the_next_step(self, world: World) -> None:
        @workflow("shop.paused")
        async def paused(run: Run, args: Any) -> str:
            await run.step("one", lambda: tried.pause() if world.reads == 0 else None)
            world.reads += 1
            await run.step("two", lambda: None)
            return "through"

        async with trial(paused) as tried:
            ended = await tried.run()
            assert (ended.status, world.reads) == ("ready", 1)
            assert (await tried.run()).reason == "paused"
            tried.resume()
            assert (await tried.run()).result == "through"

    async def test_a_cancelled_task_ends_at_its_next_step(self) -> None:
        async with trial(order) as tried:
            tried.cancel()
            assert tried.task.status == "cancelled"


class TestWhatItIsGiven:
    async def test_arguments_are_checked_as_at_a_submission(self) -> None:
        with pytest.raises(InvalidArguments, match="price"):
            async with trial(order, {"price": 5}):
                pass

    async def test_secrets_are_there_and_print_as_stars(self) -> None:
        """Promise 6."""

        @workflow("shop.secret")
        async def secret(run: Run, args: Any) -> list[Any]:
            value = run.secret("shop_password")
            assert isinstance(value, Secret)
            await run.log(f"it is {value}")
            return [value.reveal() == "pa55-of-mine", str(value)]

        async with trial(secret, secrets={"shop_password": "pa55-of-mine"}) as tried:
            assert (await tried.run()).result == [True, "********"]

    async def test_a_page_is_the_tests_own(self) -> None:
        class Page:
            async def title(self) -> str:
                return "given"

        @workflow("shop.title")
        async def title(run: Run, args: Any) -> str:
            return str(await (await run.page()).title())

        async with trial(title, page=Page()) as tried:  # type: ignore[arg-type]
            assert (await tried.run()).result == "given"
        async with trial(title) as tried:
            await tried.run()
            assert isinstance(tried.raised, NoPage)

    async def test_each_trial_has_a_store_of_its_own(self, world: World) -> None:
        for _ in range(2):
            async with trial(order) as tried:
                await tried.run()
        assert world.orders == ["r1", "r1"]

    @pytest.mark.parametrize("missing", ["fakeredis", "lupa"])
    def test_without_the_extra_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
        monkeypatch.setitem(sys.modules, missing, None)
        with pytest.raises(MemoryStoreMissing, match=r"koala-agents\[testing\]"):
            memory_store()
