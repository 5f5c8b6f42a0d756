"""What a program's starts come to: how many there were, and where they fail."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from koala.exits import Exit
from koala.starts.diary import Entry

SHORT_S = 60.0
"""A life that failed sooner belongs to the row of failures before it."""
KEPT_MS = 86_400_000
"""Hosts of which nothing was heard for so long are forgotten: containers come and go."""
MOST_HOSTS = 100
LATELY_MS = 1_200_000
"""A row of failures to which none was added for so long goes on no more: its container is left alone, or gone."""
KILLED = 137
"""The exit code of a life that ended without a word."""


@dataclass
class HostStarts:
    """The starts of a program on one host; a container is a host of its own, and keeps its name when restarted."""

    host: str
    image: str = ""
    life: str = ""
    """The life that has not ended yet."""
    pid: int = 0
    started_ms: int = 0
    ready_ms: int = 0
    failed_ms: int = 0
    exit: int = 0
    reason: str = ""
    row: int = 0
    """Failures in a row."""
    up: bool = False
    """Whether its last start has come up."""
    seen_ms: int = 0
    """When something was last heard of it."""

    @property
    def failing(self) -> bool:
        """Whether its last start has failed, and none came up since."""
        return self.row > 0 and not self.up

    def goes_on(self, now_ms: int) -> bool:
        """Whether its row of failures is of now: one to which none was added for long goes on no more."""
        return now_ms - self.failed_ms < LATELY_MS

    def take(self, entry: Entry) -> bool:
        """Follow one entry; whether it tells of a failure."""
        self.seen_ms = entry.at_ms
        if entry.event == "start":
            return self._started(entry)
        if entry.event == "ready":
            self.ready_ms, self.up = entry.at_ms, True
            return False
        return self._ended(entry)

    def _started(self, entry: Entry) -> bool:
        # The same pid on the same host is the same container: its program cannot live any more. It may on a machine
        # where several run, under other pids.
        unheard = bool(self.life) and self.pid == entry.pid
        if unheard:
            lived_s = (entry.at_ms - self.started_ms) / 1000
            self._failed(entry.at_ms, KILLED, "it ended without a word: killed, or out of memory", lived_s)
        self.image, self.life, self.pid, self.started_ms = entry.image, entry.life, entry.pid, entry.at_ms
        self.up = False
        return unheard

    def _ended(self, entry: Entry) -> bool:
        if entry.life == self.life:
            self.life = ""
        if not entry.exit:
            self.row, self.exit, self.reason = 0, 0, ""
            return False
        self._failed(entry.at_ms, entry.exit, entry.reason, entry.lived_s)
        return True

    def _failed(self, at_ms: int, code: int, reason: str, lived_s: float) -> None:
        self.row = self.row + 1 if lived_s < SHORT_S else 1
        self.failed_ms, self.exit, self.reason, self.up = at_ms, code, reason, False

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        shown = {name: value for name, value in asdict(self).items() if name not in ("life", "pid")}
        return {**shown, "failing": self.failing, "do": advice(self.exit)}


@dataclass
class Tally:
    """The starts of one program in the pool."""

    program: str
    starts: int = 0
    failures: int = 0
    clean: int = 0
    """Ends that were no failure: lives that were drained, or asked to stop."""
    ended_ms: int = 0
    exit: int = 0
    """With what it last ended, and when and why."""
    reason: str = ""
    hosts: dict[str, HostStarts] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    """How far each file was read, by its id: nothing is counted twice."""

    @property
    def failing(self) -> list[HostStarts]:
        """Where it fails to start, the latest first."""
        return sorted((host for host in self.hosts.values() if host.failing), key=lambda host: -host.failed_ms)

    @property
    def row(self) -> int:
        """Failures in a row where there are most; 0 when it starts everywhere."""
        return max((host.row for host in self.failing), default=0)

    def row_lately(self, now_ms: int) -> int:
        """The same, of rows that still go on."""
        return max((host.row for host in self.failing if host.goes_on(now_ms)), default=0)

    @property
    def started_ms(self) -> int:
        """When it was last started; 0 when that is not known."""
        return max((host.started_ms for host in self.hosts.values()), default=0)

    def on(self, hosts: Collection[str]) -> Tally:
        """The same, of these hosts only: the others are gone."""
        return replace(self, hosts={name: host for name, host in self.hosts.items() if name in hosts})

    def take(self, entries: Iterable[Entry]) -> None:
        """Follow what was written down, in its order."""
        for entry in entries:
            host = self.hosts.setdefault(entry.host, HostStarts(entry.host))
            self.starts += entry.event == "start"
            failed = host.take(entry)
            self.failures += failed
            if entry.event == "end":
                self.clean += not failed
                self.ended_ms, self.exit, self.reason = entry.at_ms, entry.exit or 0, entry.reason
        self._forget()

    def _forget(self) -> None:
        newest = sorted(self.hosts.values(), key=lambda host: -host.seen_ms)[:MOST_HOSTS]
        limit = newest[0].seen_ms - KEPT_MS if newest else 0
        self.hosts = {host.host: host for host in newest if host.seen_ms > limit}

    def dump(self) -> str:
        """As it is stored."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def parse(cls, program: str, text: str) -> Tally:
        """As it was stored; a new one from nothing. Fields of a newer Koala are left out."""
        got = json.loads(text) if text else {}
        known = {name: got[name] for name in cls.__dataclass_fields__ if name in got and name != "hosts"}
        tally = cls(**{"program": program, **known})
        for name, host in got.get("hosts", {}).items():
            fields = {key: host[key] for key in HostStarts.__dataclass_fields__ if key in host}
            tally.hosts[name] = HostStarts(**fields)
        return tally

    def public(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {
            "starts": self.starts,
            "failures": self.failures,
            "clean": self.clean,
            "row": self.row,
            "started_ms": self.started_ms,
            "ended_ms": self.ended_ms,
            "exit": self.exit,
            "reason": self.reason,
            "failing": [host.public() for host in self.failing],
        }


ADVICE: dict[int, str] = {
    Exit.FAILED: "look at its log",
    Exit.STORE_AWAY: "see that Redis runs, and that KOALA_REDIS_URL names it",
    Exit.STORE_UNSAFE: "put right what the reason says about Redis or its password, then start it again",
    Exit.STORE_NEWER: "use an image of the newer release",
    Exit.SETTINGS: "put right the setting or secret that the reason names, then start it again",
    Exit.WORKFLOWS: "mend the workflow modules, or KOALA_WORKFLOWS, in the image",
    Exit.VOLUME: "mount the right data volume, then start it again",
    Exit.BROWSER: "run `koala doctor` in its container: it says why no browser starts",
    Exit.WENT_BACK: "the store was restored without being told: restore it by the documented way",
    KILLED: "see whether its memory limit is too small for its slots",
}


def advice(code: int) -> str:
    """What a person can do about a program that ends with this code."""
    return ADVICE.get(code, ADVICE[Exit.FAILED])
