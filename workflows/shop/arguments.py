"""What the shop's workflows are given."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ShopArgs(BaseModel):
    """Where the shop is, without a slash at the end."""

    model_config = ConfigDict(extra="forbid")

    shop: str = Field(pattern=r"^https?://[^/]+$")


class LoginArgs(ShopArgs):
    """Who logs in. The password of the demo's users is `koala-` and the name; a real one is a secret."""

    user: str = Field(min_length=1, max_length=40)


class OrderArgs(LoginArgs):
    """What is ordered, under which reference of ours."""

    sku: str
    reference: str = Field(min_length=1, max_length=100)
    settle_s: float = Field(3.0, ge=0, le=600)
    act_s: float = Field(10.0, gt=0, le=600)
    ask_over: str = Field("1000000", pattern=r"^\d+(\.\d+)?$")
    """A person approves what costs more, in dollars."""


class NewsArgs(ShopArgs):
    """Which page of the news."""

    n: int = Field(1, ge=1)


class Receipt(BaseModel):
    """What the shop gave for an order."""

    order: str
    sku: str
    price: str
