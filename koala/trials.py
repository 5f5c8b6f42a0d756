"""Slots that have been tried: a canary ended well there. Told by image, host and number, so that it outlives a restart.

A host here is a name that no two machines or containers share.
"""

from __future__ import annotations

from koala import keys
from koala.store import Store
from koala.tasks import now_ms

KEPT_MS = 400 * 86_400_000
"""From its last start on; a slot that is forgotten is only tried again."""


def passed(store: Store, image: str, host: str, number: str) -> bool:
    """Whether it has been tried before; then that is remembered for another `KEPT_MS`. Safe beside itself."""
    who = _who(image, host, number)
    if store.client.zscore(keys.TRIED, who) is None:
        return False
    remember(store, image, host, number)
    return True


def remember(store: Store, image: str, host: str, number: str) -> None:
    """It has been tried, now. May be repeated."""
    now = now_ms(store)
    store.client.zadd(keys.TRIED, {_who(image, host, number): now})
    store.client.zremrangebyscore(keys.TRIED, "-inf", now - KEPT_MS)


def _who(image: str, host: str, number: str) -> str:
    return f"{image}|{host}|{number}"
