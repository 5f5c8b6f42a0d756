"""The examples in the docs run as they stand there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import koala
from koala import ABSENT, redaction
from koala.workflow import Workflow

ROOT = Path(__file__).resolve().parents[2]


def examples(page: str) -> list[str]:
    """The Python code blocks of a page."""
    return re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text("utf-8"), re.DOTALL | re.MULTILINE)


class Site:
    """What the README leaves to its reader: how a price is read, an order is placed, and found again."""

    def __init__(self) -> None:
        self.orders: list[str] = []

    async def read_price(self, page: Any, sku: str) -> str:
        return "12"

    async def place(self, page: Any, args: Any, operation: str) -> dict[str, str]:
        self.orders.append(args.cart)
        return {"order": args.cart}

    async def find_order(self, page: Any, args: Any, operation: str) -> Any:
        return {"order": args.cart} if args.cart in self.orders else ABSENT


@pytest.fixture
def site() -> Site:
    return Site()


@pytest.fixture
def names(site: Site, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """All that the README's workflow declares."""
    monkeypatch.setattr(redaction, "_known", set())
    (declared,) = examples("README.md")
    given = {"read_price": site.read_price, "place": site.place, "find_order": site.find_order, "__name__": "shop"}
    exec(declared, given)  # noqa: S102 - it is our own page
    return given


async def test_the_workflow_of_the_readme_does_what_its_test_in_the_docs_says(
    names: dict[str, Any], site: Site
) -> None:
    _, test = examples("docs/workflows.md")
    exec(test, names)  # noqa: S102 - it is our own page
    (written,) = [value for name, value in names.items() if name.startswith("test_")]
    await written(object())
    assert len(site.orders) == 1


def test_a_workflow_is_declared_as_the_docs_say() -> None:
    class Args(BaseModel):
        pass

    declared, _ = examples("docs/workflows.md")
    given = {**vars(koala), "Args": Args, "__name__": "site"}
    exec(declared, given)  # noqa: S102 - it is our own page
    assert isinstance(given["thing"], Workflow)
