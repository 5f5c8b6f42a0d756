"""Small words for durations and money, so that a limit says its unit."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from typing import Any


def seconds(number: float) -> timedelta:
    """A duration."""
    return timedelta(seconds=number)


def minutes(number: float) -> timedelta:
    """A duration."""
    return timedelta(minutes=number)


def usd(amount: str) -> Decimal:
    """An amount of US dollars, exact: give it as text. Raises TypeError for a float, ValueError for no amount."""
    if isinstance(amount, float):
        raise TypeError(f'write usd("{amount}"): a float is not exact')
    try:
        value = Decimal(amount)
    except ArithmeticError:
        raise ValueError(f"{amount!r} is not an amount") from None
    if not value.is_finite():
        raise ValueError(f"{amount!r} is not an amount")
    return value


def over(amount: Decimal, of: str = "price") -> Callable[[Any], bool]:
    """A review rule: ask a person when the described field `of` is above `amount`, or cannot be compared."""

    def asks(description: Any) -> bool:
        value = description.get(of) if isinstance(description, dict) else None
        try:
            return value is None or Decimal(str(value)) > amount
        except ArithmeticError:
            return True

    return asks
