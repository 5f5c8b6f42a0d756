"""What every part of a slot needs: the settings, the store, the volume, the workflows, and who it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from koala.leases import Terms
from koala.settings import Settings
from koala.store import Store
from koala.workflow import Registry
from worker.report import Report
from worker.volume import Volume


@dataclass(frozen=True)
class Place:
    """A slot's place in the pool."""

    settings: Settings
    store: Store
    volume: Volume
    registry: Registry
    worker: str
    slot: str
    report: Report = field(default_factory=Report)
    """What is told to the supervisor: beats, counts and durations. By default nobody listens."""
    rehearsal: bool = False
    """No effect is carried out: the gate is closed, and effects are only described."""

    @property
    def tmp(self) -> Path:
        """Where its temporary directories are; whoever sees the slot's end removes it."""
        return self.volume.tmp / self.slot

    @property
    def terms(self) -> Terms:
        """The terms of its leases."""
        return Terms(self.settings.lease_ttl_s, self.settings.trust_margin_s)
