"""The outside world as an oracle, for tests that have no site."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class World:
    """What the site has, and what is still on its way to it."""

    orders: Counter[str] = field(default_factory=Counter)
    under_way: list[tuple[str, str]] = field(default_factory=list)
    """Allowed acts that have not reached the site: (fence, operation)."""
    acts: Counter[str] = field(default_factory=Counter)
    """Acts allowed since the operation was last settled as absent."""

    def quiet(self, operation: str) -> bool:
        """Whether nobody who could still act on it is left: what proof and settle establish."""
        return all(other != operation for _, other in self.under_way)

    def kill(self, fence: str) -> None:
        """The processes of an attempt end; what they had not done they never do."""
        self.under_way = [act for act in self.under_way if act[0] != fence]
