"""The store of a program that starts: it may come up later than the program."""

from __future__ import annotations

from tenacity import RetryCallState, Retrying, retry_if_exception_type, stop_after_delay, wait_fixed

from koala.errors import StoreAway
from koala.logs import log
from koala.settings import Settings
from koala.store.connection import Store, open_store

PACE_S = 0.5


def opened(settings: Settings) -> Store:
    """Open the store of the settings; wait `store_wait_s` at most for one that does not answer. Blocking.

    Raises StoreAway after that, and StoreUnsafe or StoreNewer at once.
    """
    retrying = Retrying(
        retry=retry_if_exception_type(StoreAway),
        wait=wait_fixed(PACE_S),
        stop=stop_after_delay(settings.store_wait_s),
        before_sleep=_tell,
        reraise=True,
    )
    return retrying(open_store, settings.redis_url, settings.password, settings.redis_user)


def _tell(state: RetryCallState) -> None:
    if state.attempt_number == 1 and state.outcome:
        log().warning("store_awaited", error=str(state.outcome.exception()))
