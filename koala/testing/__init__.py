"""Testing one's own workflows without a pool: the real steps, effects and ledger, over a store in memory.

    async with trial(order, {"sku": "K-100"}, page=page) as tried:
        await tried.run(crash=crash.after_act("place_order"))
        assert (await tried.run()).status == "done"    # its confirm found the order: it was not placed again

Real: the workflow, its steps and checkpoints, the effect protocol, the ledger, questions and their answers, pause and
cancel. Not there: processes, leases that run out, the settle time (it is over at once), profiles and guards.
"""

from koala.testing import crash
from koala.testing.memory import MemoryStoreMissing, memory_store
from koala.testing.parent import NoPage
from koala.testing.trial import Ended, Trial, trial

__all__ = ["Ended", "MemoryStoreMissing", "NoPage", "Trial", "crash", "memory_store", "trial"]
