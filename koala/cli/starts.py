"""Programs that do not stay up, as `koala status` shows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.text import Text

from koala.cli.text import foreign
from koala.cli.times import ago
from koala.starts import HostStarts, Tally
from koala.starts.tally import advice


def failing(tallies: Mapping[str, Tally], now_ms: int) -> Iterator[Text]:
    """One text a host on which a program does not stay up, the latest first; nothing when all come up.

    A host on which nothing was tried for long may be gone: that is said, and no alarm.
    """
    for tally in tallies.values():
        for host in tally.failing:
            goes_on = host.goes_on(now_ms)
            yield foreign(_sentence(tally.program, host, now_ms, goes_on=goes_on), "bold red" if goes_on else "yellow")


def _sentence(program: str, host: HostStarts, now_ms: int, *, goes_on: bool) -> str:
    times = "once" if host.row == 1 else f"{host.row} times in a row"
    which = f"{times} on {host.host} (image {host.image}), last {ago(host.failed_ms, now_ms)} ago"
    why = f"{which}, exit {host.exit}: {host.reason or 'no reason'}. Do: {advice(host.exit)}"
    if goes_on:
        return f"{program} does not stay up: {why}"
    return f"{program} did not stay up, and was not started again: {why}, unless {host.host} is gone"
