"""One active scheduler: a lease of its own in the store. A standby takes over when it ends."""

from __future__ import annotations

import json
import os
import secrets
import socket
from dataclasses import dataclass, field

from koala import keys
from koala.clock import boottime
from koala.store import Store


def _name() -> str:
    return f"{socket.gethostname()[:40]}-{os.getpid()}-{secrets.token_hex(3)}"


@dataclass
class Leader:
    """This scheduler's claim to be the active one."""

    store: Store
    ttl_s: float
    name: str = field(default_factory=_name)
    trusted_until: float = 0.0
    _claim_at: float = 0.0

    def keep(self) -> bool | None:
        """Claim, when a quarter of the term has passed since: whether it is ours; None when it was not time yet."""
        now = boottime()
        if now < self._claim_at:
            return None
        mine = self.claim()
        self._claim_at = now + self.ttl_s / 4
        return mine

    def claim(self) -> bool:
        """Take or keep the leadership; whether it is ours, trusted for less than the TTL from before we asked."""
        asked_at = boottime()
        facts = json.dumps({"pid": os.getpid()})
        reply = self.store.run("leader", [keys.LEADER], self.name, int(self.ttl_s * 1000), facts)
        self.trusted_until = asked_at + self.ttl_s * 0.8 if reply["mine"] else 0.0
        return bool(reply["mine"])

    @property
    def active(self) -> bool:
        """Whether it may act now. Duties are safe beside another scheduler's; this only saves doing them twice."""
        return boottime() < self.trusted_until

    def give_up(self) -> None:
        """Let a standby take over at once."""
        self.store.run("leader", [keys.LEADER], self.name, 0, "{}")
        self.trusted_until = 0.0
