"""What a person sees while the demo runs: a line for everything that happens, and how far it is."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from demo import plan
from demo.sight import Running, Sight

PIPED_WIDTH = 100
EVERY_S = 5.0
"""How often the progress is told where there is no live view."""


def console() -> Console:
    """Standard output."""
    made = Console(markup=False, emoji=False, highlight=False)
    return made if made.is_terminal else Console(markup=False, emoji=False, highlight=False, width=PIPED_WIDTH)


@dataclass(frozen=True)
class Course:
    """How far the faults are, and which workers cannot work: `killed` or `frozen`, by name."""

    faults: int
    faults_over: int
    lame: Mapping[str, str]


class View:
    """Lines that stay, each with its time; below them, on a terminal, the pool as it is."""

    def __init__(self, out: Console) -> None:
        self.out = out
        self._began = time.monotonic()
        self._live: Live | None = None
        self._told_at = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.rest()

    @property
    def seconds(self) -> float:
        """Since the view was made."""
        return time.monotonic() - self._began

    def say(self, text: str, style: str = "") -> None:
        """One line that stays."""
        at, what = Text(f"{self.seconds:6.1f} s", "dim"), Text(text, style or _style(text))
        if self.out.is_terminal:
            self.out.print(_columns(at, what))
        else:
            self.out.print(Text.assemble(at, "  ", what), soft_wrap=True)

    def show(self, sight: Sight, course: Course) -> None:
        """The pool as it is now."""
        if self.out.is_terminal:
            self._draw(frame(sight, course, self.seconds))
        elif self.seconds - self._told_at >= EVERY_S:
            self._told_at = self.seconds
            self.say(progress(sight), "dim")

    def rest(self) -> None:
        """No live view from here on."""
        if self._live:
            self._live.stop()
            self._live = None

    def _draw(self, what: RenderableType) -> None:
        if self._live is None:
            self._live = Live(what, console=self.out, transient=True, auto_refresh=False)
            self._live.start()
        self._live.update(what, refresh=True)


def _columns(*cells: Text) -> Table:
    """Side by side; what is too long goes on below itself."""
    row = Table.grid(padding=(0, 2, 0, 0))
    row.add_row(*cells)
    return row


def _style(text: str) -> str:
    """Blows stand out, recoveries calm."""
    if text.startswith(("killed", "froze")):
        return "red"
    return "green" if " s after the " in text else ""


def progress(sight: Sight) -> str:
    """How far it is, in one line."""
    orders, news = sight.count("shop.order"), sight.count("shop.news")
    return (
        f"{orders} of {plan.ROUNDS * len(plan.PROFILES)} orders and {news} of {plan.NEWS} news done, "
        f"{'the store is away' if sight.away else f'{len(sight.running)} running'}"
    )


def frame(sight: Sight, course: Course, seconds: float) -> Group:
    """The live view."""
    bars = Table.grid(padding=(0, 1))
    bars.add_row("", *_bar("orders", sight.count("shop.order"), plan.ROUNDS * len(plan.PROFILES)))
    bars.add_row("", *_bar("news", sight.count("shop.news"), plan.NEWS))
    bars.add_row("", *_bar("faults", course.faults_over, course.faults))
    away = Text("; the store is away", "red") if sight.away else ""
    return Group("", bars, _slots(sight, course.lame), Text.assemble((f"  {seconds:.0f} s", "dim"), away))


def _bar(name: str, done: int, of: int) -> tuple[RenderableType, ...]:
    return Text(f" {name}"), ProgressBar(total=of, completed=done, width=32), Text(f"{done:>2} of {of}")


def _slots(sight: Sight, lame: Mapping[str, str]) -> Table:
    """Each slot and what it does."""
    by_slot = {one.slot: one for one in sight.running}
    table = Table.grid(padding=(0, 2))
    for seat in sorted(sight.seats, key=lambda seat: (_number(seat.worker), seat.id)):
        table.add_row("", Text(seat.worker, "dim"), _does(by_slot.get(seat.id), lame.get(seat.worker, "")))
    return table


def _number(worker: str) -> int:
    return int(worker.rpartition(" ")[2] or 0)


def _does(running: Running | None, lame: str) -> Text:
    if lame:
        return Text(lame, "red")
    if running is None:
        return Text("free", "dim")
    again = [f"attempt {running.number}"] if running.number > 1 else []
    moment = [str(running.moment)] if running.work.order else []
    return Text.assemble(running.work.label, (f"  {', '.join([*moment, *again])}", "dim"))
