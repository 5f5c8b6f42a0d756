"""Amounts of money, as text with two decimals: exact in JSON, on a page and in an approval."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation


def money(amount: Decimal | str | float) -> str:
    """The amount as text with two decimals. Raises ValueError for what is not a finite number."""
    try:
        exact = Decimal(str(amount))
    except InvalidOperation:
        exact = Decimal("NaN")
    if not exact.is_finite():
        raise ValueError(f"not an amount of money: {amount!r}")
    return str(exact.quantize(Decimal("0.01")))
