"""The way through RQ: the one part of Koala that knows it.

RQ only carries. A job names a task and says nothing else: it may be lost, doubled or late, and every
`rq:*` key may be deleted at any moment, because the task records rebuild them. So nothing here decides
what runs, runs again or failed: RQ's worker loop, maintenance, retries, scheduler and remote shutdown
channel stay unused.

Everything blocks, a call to Redis at most about `SOCKET_TIMEOUT_S`; asyncio programs call it in a thread.
While Redis is away, every call raises `redis.exceptions.ConnectionError` or `TimeoutError` and nothing
else; the change may or may not have happened, and the same call may be made again.
"""

from koala.queue.connection import SOCKET_TIMEOUT_S, connect
from koala.queue.contents import Carried, carried, purge, waiting, withdraw
from koala.queue.job import JOB_FUNCTION, Delivery, push, run_task
from koala.queue.leftovers import sweep
from koala.queue.seat import Seat
from koala.queue.tidying import forget, tidy

__all__ = [
    "JOB_FUNCTION",
    "SOCKET_TIMEOUT_S",
    "Carried",
    "Delivery",
    "Seat",
    "carried",
    "connect",
    "forget",
    "purge",
    "push",
    "run_task",
    "sweep",
    "tidy",
    "waiting",
    "withdraw",
]
