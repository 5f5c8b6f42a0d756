"""Who holds a lock."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from koala.fence import Fence


@dataclass(frozen=True)
class Holder:
    """A process as a lock file names it. When the lock is free it is the last holder."""

    role: str
    fence: Fence
    pid: int
    started: int
    session: int
    pid_namespace: str
    machine: str
    boot: str

    @classmethod
    def read(cls, content: dict[str, Any]) -> Holder:
        kept = {name: content[name] for name in cls.__dataclass_fields__ if name != "fence"}
        return cls(fence=Fence.parse(content["fence"]), **kept)

    def __str__(self) -> str:
        return f"{self.role} (pid {self.pid}, fence {self.fence}, machine {self.machine[:8]})"
