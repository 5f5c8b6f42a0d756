"""Taking over a `sent` that another attempt left: proof that all who could act are gone, then time to settle.

The proof is the kernel's on one machine: the locks of child, driver and browser, taken and given back. Another boot
of the same machine is proof by itself; another machine needs a report. A clock is never proof.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from koala import leases, restore
from koala.attempt import Attempt
from koala.clock import boottime
from koala.errors import KoalaError
from koala.fence import Fence
from worker import locks, processes
from worker.volume import Volume


@dataclass
class Takeover:
    """The proofs and settle times of one attempt, in its parent's memory; lost with it, they start anew."""

    volume: Volume
    attempt: Attempt
    proved: dict[str, float] = field(default_factory=dict)
    quiet: set[str] = field(default_factory=set)

    def prove(self, operation: str, own_lock: str) -> str:
        """Whether everyone who could act on this operation is gone: empty, or who may still live. Blocking, short.

        `own_lock` names the lock that this attempt's own browser holds. The settle time starts with the proof.
        """
        sent = self.attempt.open_effects().get(operation)
        if sent is None:
            return "the ledger does not have it open"
        reason = self._not_gone(sent, own_lock)
        if not reason:
            self.proved.setdefault(operation, boottime())
        return reason

    def begin_look(self, operation: str, settle_s: float) -> float:
        """0 when the look that begins now may say absent; otherwise how many seconds are left. Proof comes first."""
        if operation not in self.proved:
            return settle_s
        left = self.proved[operation] + settle_s - boottime()
        if left <= 0:
            self.quiet.add(operation)
        return max(0.0, left)

    def _not_gone(self, sent: dict[str, Any], own_lock: str) -> str:
        if sent.get("owner") == "ALL":
            return self._older_not_gone(int(sent["epoch"]), own_lock)
        if leases.gone_report(self.attempt.store, self.attempt.task.id, sent["fence"]):
            return ""
        if sent.get("machine") != self.volume.machine:
            return f"attempt {sent['fence']} ran on another machine, which has not reported it gone"
        if sent.get("boot") != processes.boot_id():
            return ""
        for role in ("k", "d", "b"):
            name = sent.get(role)
            reason = "" if not name or name == own_lock else self._still_held(role, name)
            if reason:
                return reason
        return ""

    def _older_not_gone(self, epoch: int, own_lock: str) -> str:
        """After a restore nobody knows which attempt acted last: all that began before it have to be gone."""
        reason = self._no_word(epoch)
        for name, found in () if reason else locks.still_there(self.volume, epoch):
            if isinstance(found, locks.Unproved):
                return found.reason
            return f"{found.holder or 'its holder'} was there before the restore and still holds {name}"
        return reason or self._shut_own(own_lock)

    def _no_word(self, epoch: int) -> str:
        """Other machines of the backup are a person's word, given when the restore was declared."""
        restored = restore.last(self.attempt.store)
        if restored is None or restored.epoch != epoch:
            return f"the store does not know the restore of epoch {epoch}"
        others = ({restored.machine} | restored.machines) - {self.volume.machine}
        unsaid = sorted(others if not restored.word else others - restored.machines)
        return f"attempts of before the restore ran on machine {unsaid[0][:8]}, not reported gone" if unsaid else ""

    def _shut_own(self, own_lock: str) -> str:
        """The profile's lock: our browser holds it, or our fence is written into it."""
        profile = self.attempt.task.profile
        path = locks.profile_path(self.volume, profile) if profile else None
        return "" if path is None or path.name == own_lock or not path.exists() else self._shut(path)

    def _still_held(self, role: str, name: str) -> str:
        path = self.volume.locks / name
        found = locks.prove_gone(self.volume, path)
        if isinstance(found, locks.Alive):
            return f"{found.holder or 'its holder'} still holds {name}"
        if isinstance(found, locks.Unproved):
            return found.reason
        return self._shut(path) if role == "b" else ""

    def _shut(self, path: Any) -> str:
        """Write our fence into a browser's lock, so that an older one that was never started is refused for ever."""
        try:
            locks.take(self.volume, path, "prover", Fence.parse(self.attempt.fence)).release()
        except KoalaError as error:
            return str(error)
        return ""

    def tidy(self, sent: dict[str, Any]) -> None:
        """Remove the lock files of an attempt that is proved gone and settled; a profile's own lock stays."""
        for role in ("k", "d", "b"):
            name = sent.get(role)
            if not name or name.startswith("profile-"):
                continue
            locks.remove_free(self.volume, self.volume.locks / name)
