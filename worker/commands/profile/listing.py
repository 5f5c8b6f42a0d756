"""`profile list`: every profile of the volume, who has it, and whether it was closed as it should be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from koala import keys, leases
from koala.cli.output import Row as Cells
from koala.cli.output import listing, say, show
from koala.cli.text import foreign
from koala.clock import show as shown_time
from koala.errors import KoalaError, StoreAway, StoreUnsafe
from koala.exits import Exit
from koala.settings import Settings
from koala.store import open_store
from worker import profiles
from worker.commands.desk import data_volume
from worker.commands.profile.occupant import Occupant, occupant
from worker.profiles import ProfileDirectory, ProfileRecord

Leases = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Row:
    """One profile. `fault` says what is wrong with its record or lock; `lease` is empty when nobody has one."""

    name: str
    record: ProfileRecord | None
    occupant: Occupant | None
    lease: dict[str, str]
    last_used_ms: int
    fault: str = ""

    @property
    def state(self) -> str:
        """new, open, clean, unclean or damaged."""
        if self.record is None:
            return "damaged"
        return "open" if self.record.state == "unclean" and self.occupant else self.record.state

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        lease = {key: self.lease[key] for key in ("task", "worker", "slot", "fence") if key in self.lease}
        return {
            "name": self.name,
            "state": self.state,
            "holder": lease or None,
            "process": self.occupant.public() if self.occupant else None,
            "browser": self.record.binary if self.record else None,
            "major": self.record.major if self.record else None,
            "last_used_ms": self.last_used_ms,
            "fault": self.fault,
        }


def list_(config: Settings, as_json: bool) -> Exit:
    """Show all. Without the store only what the disk says."""
    held = _leases(config)
    rows = [_row(profile, held or {}) for profile in profiles.every(data_volume(config))]
    if rows or as_json:
        show(lambda: [row.public() for row in rows], lambda: _table(rows, held is not None), as_json)
    else:
        say("there is no profile yet: `koala profile login NAME` makes one")
    return Exit.OK


def _leases(config: Settings) -> Leases | None:
    try:
        store = open_store(config.redis_url, config.password, config.redis_user)
        try:
            return leases.held(store)
        finally:
            store.close()
    except (StoreAway, StoreUnsafe) as error:
        say(f"leases are not shown: {error}", style="yellow")
        return None


def _row(profile: ProfileDirectory, held: Leases) -> Row:
    record, found, fault = None, None, ""
    try:
        record = profile.record()
        found = occupant(profile)
    except KoalaError as error:
        fault = str(error)
    used = (profile.path / "profile.json").stat().st_mtime_ns // 1_000_000
    return Row(profile.name, record, found, held.get(keys.resource("", profile.name), {}), used, fault)


def _table(rows: list[Row], leases_known: bool) -> RenderableType:
    cells: list[Cells] = [
        [
            foreign(row.name, "bold"),
            Text(row.state, "red" if row.fault else "yellow" if row.state == "unclean" else ""),
            foreign(_user(row.lease) if leases_known else "?"),
            foreign(str(row.occupant or row.fault)),
            str(row.record.major or "") if row.record else "",
            shown_time(row.last_used_ms),
        ]
        for row in rows
    ]
    return listing(["profile…", "state", "in use by…", "process…", ">browser", "last used (UTC)"], cells)


def _user(lease: dict[str, str]) -> str:
    if not lease:
        return ""
    return f"task {lease['task']} ({lease['worker']})" if lease.get("task") else lease.get("worker", "")
