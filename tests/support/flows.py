"""Workflows that tests of the command line submit; nothing runs them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict

from koala import Limits, Run, workflow


class Typed(BaseModel):
    """One field of each kind whose text on a command line could be taken wrongly."""

    model_config = ConfigDict(extra="forbid")

    text: str = ""
    number: int = 0
    price: Decimal = Decimal(0)
    yes: bool = False
    many: list[int] = []
    maybe: str | None = "unset"
    either: int | str = 0
    anything: Any = None


@workflow("shop", args=Typed, profile="optional", limits=Limits(attempts=2))
async def shop(run: Run, args: Typed) -> None:
    """Takes anything."""


@workflow("banking", profile="required")
async def banking(run: Run, args: Any) -> None:
    """Needs a profile."""


@workflow("news")
async def news(run: Run, args: Any) -> None:
    """Takes no profile."""
