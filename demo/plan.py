"""What the demo runs, at which shop, and under which settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROFILES = ("ann", "bob", "cat", "dan", "eve", "fay")
ROUNDS = 4
"""Orders of each profile."""
NEWS = 24
"""Tasks without a profile."""
WORKERS, SLOTS = 2, 2
GOODS = ("LEAF-100", "MUG-1", "TEA-20", "BLANKET-1", "LAMP-1", "BOOK-1")

TTL_S = 5.0
MARGIN_S = 1.0
SETTLE_S = 3.0
LEADER_TTL_S = 3.0
FREEZE_S = TTL_S + 3.0
OUTAGE_S = 1.0
LIMIT_S = 180.0
"""When the demo gives up on what is still not done."""


@dataclass(frozen=True)
class Work:
    """One task of the demo, by a name for people. `order` is its reference at the shop, empty for news."""

    label: str
    workflow: str
    args: dict[str, Any] = field(hash=False)
    profile: str = ""
    order: str = ""


def logins(shop: str) -> list[Work]:
    """What makes the profiles ready."""
    return [Work(f"login {user}", "shop.login", {"shop": shop, "user": user}, profile=user) for user in PROFILES]


def orders(shop: str) -> list[Work]:
    """Orders in a browser that is logged in, round by round."""
    return [
        _order(shop, user, number, sku)
        for number in range(1, ROUNDS + 1)
        for user, sku in zip(PROFILES, GOODS, strict=True)
    ]


def _order(shop: str, user: str, number: int, sku: str) -> Work:
    reference = f"{user}-{number}"
    args = {"shop": shop, "user": user, "sku": sku, "reference": reference, "settle_s": SETTLE_S}
    return Work(reference, "shop.order", args, profile=user, order=reference)


def news(shop: str) -> list[Work]:
    """Work without a profile."""
    return [Work(f"news {number}", "shop.news", {"shop": shop, "n": number}) for number in range(1, NEWS + 1)]


def manners() -> dict[str, Any]:
    """How the shop behaves: slow as real ones are, late with some orders, and twice it hangs up on a customer."""
    late = [{"reference": f"{user}-{number}", "ms": 1500} for user in PROFILES for number in (2, 3)]
    cut = [{"reference": reference, "times": 1} for reference in ("cat-1", "eve-4")]
    return {"slow_pages_ms": 250, "slow_answer_ms": 900, "slow_store_ms": late, "cut_after_order": cut}


def environment(data: Path, redis_url: str, *, sandbox: bool) -> dict[str, str]:
    """The settings of every program of the demo's pool."""
    return {
        "KOALA_REDIS_URL": redis_url,
        "KOALA_DATA": str(data),
        "KOALA_WORKFLOWS": "workflows",
        "KOALA_SLOTS": str(SLOTS),
        "KOALA_LEASE_TTL_S": f"{TTL_S:g}",
        "KOALA_TRUST_MARGIN_S": f"{MARGIN_S:g}",
        "KOALA_HEARTBEAT_S": "1",
        "KOALA_LEADER_TTL_S": f"{LEADER_TTL_S:g}",
        "KOALA_HANDED_WAIT_S": "3",
        "KOALA_OLD_HOLDER_WAIT_S": "1",
        "KOALA_OLD_HOLDER_WAIT_MOST_S": "1",
        "KOALA_BACKOFF_S": "0.5",
        "KOALA_LOG_FORMAT": "json",
        "KOALA_LAUNCH_CHECK": "0",  # its browsers are shown to work by the orders, and a new worker is not to wait
        **({} if sandbox else {"KOALA_BROWSER_SANDBOX": "0"}),
    }
