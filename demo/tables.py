"""The report as a person reads it."""

from __future__ import annotations

from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from demo import plan
from demo.report import Recovery, Report
from koala.settings import Settings


def render(report: Report, where: Path) -> RenderableType:
    """All of it: figures and recoveries (unless the work never began), settings, and the verdict last."""
    parts: list[RenderableType] = [""]
    if report.tasks:
        parts += [_figures(report), "", _recoveries(report), ""]
    if report.found_happened or report.found_absent:
        parts += [Text(_asked(report)), ""]
    if report.stuck:
        parts += [_stuck(report), ""]
    parts += [Text(_settings(), "dim"), Text(_files(where), "dim"), "", _verdict(report)]
    return Group(*parts)


def _figures(report: Report) -> Table:
    profiles, orders = len(plan.PROFILES), plan.ROUNDS * len(plan.PROFILES)
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 3, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(style="dim")
    rows = (
        (
            "tasks",
            report.tasks,
            f"{orders} orders in {profiles} logged-in profiles, {plan.NEWS} without a profile",
            False,
        ),
        ("done", report.succeeded, "", report.succeeded != report.tasks),
        ("orders at the shop", report.orders, "counted in the shop's own order book", report.orders != orders),
        ("duplicates", report.duplicates, "orders that were placed more than once", report.duplicates > 0),
        ("lost", report.lost, "tasks that did not end as done", report.lost > 0),
        ("logins lost", report.logins_lost, "profiles that had to log in again", report.logins_lost > 0),
        ("refused stale writes", report.stale_writes_refused, "tried by a worker whose lease had ended", False),
    )
    for name, number, what, bad in rows:
        table.add_row(Text(name, "bold"), Text(str(number), "bold red" if bad else "bold green"), what)
    return table


def _recoveries(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("what was done to the pool")
    table.add_column("work went on after", justify="right", no_wrap=True)
    for one in report.recoveries:
        table.add_row(one.did or f"{one.fault}: not carried out", _seconds(one))
    return table


def _seconds(recovery: Recovery) -> Text:
    if recovery.seconds is None:
        return Text("never" if recovery.did else "-", "bold red")
    return Text(f"{recovery.seconds:.1f} s", "green")


def _asked(report: Report) -> str:
    had, not_there = report.found_happened, report.found_absent
    orders = "1 order was" if had + not_there == 1 else f"{had + not_there} orders were"
    return (
        f"{orders} cut off before the shop's answer came. Nobody guessed: the next attempt asked the shop. "
        f"It had {had}; it did not have {not_there}, even after the settle time, and only so much was sent again."
    )


def _stuck(report: Report) -> Table:
    """Tasks that wait for the same are told together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for one in report.stuck:
        alike.setdefault((one.status, one.why), []).append(one.label)
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("not done", ratio=1)
    table.add_column("is", no_wrap=True)
    table.add_column("because", ratio=2)
    for (status, why), labels in alike.items():
        table.add_row(", ".join(labels), status, why)
    return table


def _settings() -> str:
    ttl, leader = (Settings.model_fields[name].default for name in ("lease_ttl_s", "leader_ttl_s"))
    return (
        f"Settings: lease TTL {plan.TTL_S:g} s (default {ttl:g}), settle {plan.SETTLE_S:g} s, "
        f"scheduler's lease {plan.LEADER_TTL_S:g} s (default {leader:g})."
    )


def _files(where: Path) -> str:
    return f"The same as JSON: {where}; everybody's logs: {where.parent / 'logs'}."


def _verdict(report: Report) -> Text:
    took = f"{report.took_s:.0f} s"
    if report.ok:
        return Text(f"Passed in {took}: nothing was doubled, nothing lost, nobody logged out.", "bold green")
    return Text(f"Failed after {took}: " + "; ".join(report.problems) + ".", "bold red")
