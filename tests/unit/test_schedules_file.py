"""schedules.toml: checked as a whole, every fault with its line and reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from koala import client, tasks
from koala.schedules import file
from koala.schedules.definition import CatchUp, Definition, Order, Overlap
from koala.schedules.zones import aware, zone
from koala.workflow import load

REGISTRY = load(["tests.support.flows"])
WHEN = 'zone = "UTC"\ncron = "0 2 * * *"\n'


def check(workflow: str, args: dict[str, Any], profile: str) -> tasks.Submission:
    return client.prepare(REGISTRY, workflow, args, profile=profile)


def read(text: str) -> tuple[list[Definition], list[tuple[int, str]]]:
    found, faults = file.read(text, check)
    return found, [(fault.line, str(fault)) for fault in faults]


def one(text: str) -> Definition:
    """The one schedule of a text without faults."""
    found, faults = read(f'[schedule.a]\nworkflow = "shop"\n{text}')
    assert faults == []
    return found[0]


def fault(text: str) -> tuple[int, str]:
    """The one fault of a schedule `a` whose table goes on with this from its third line."""
    faults = read(f'[schedule.a]\nworkflow = "shop"\n{text}')[1]
    assert len(faults) == 1, faults
    return faults[0]


def test_everything_that_can_be_said() -> None:
    made = one(
        'args = { text = "x", many = [1, 2] }\nprofile = "anna"\npriority = 3\nzone = "Europe/Berlin"\n'
        'cron = ["0 2 * * *", "@weekly"]\nstart = 2026-12-01\nend = "2026-12-31"\n'
        'exclude = ["2026-12-25", "2026-12-26/2026-12-28", "* * * * SUN"]\n'
        'catch_up = "all"\ncatch_up_window = "2d"\ncatch_up_max = 5\ncatch_up_order = "newest"\n'
        'overlap = "queue_all"\noverlap_max = 7\njitter = "10min"\ndeadline = "1h 30m"\npause_after = 3\n'
    )
    assert (made.workflow, made.version, made.max_attempts) == ("shop", 1, 2)
    assert (made.profile, made.priority, made.args["many"]) == ("anna", 3, [1, 2])
    assert (made.cron, made.exclude[0]) == (("0 2 * * *", "@weekly"), "2026-12-25")
    assert (made.catch_up, made.window_ms, made.catch_up_max) == (CatchUp.ALL, 172_800_000, 5)
    assert made.catch_up_order is Order.NEWEST
    assert (made.overlap, made.overlap_max) == (Overlap.QUEUE_ALL, 7)
    assert (made.jitter_ms, made.deadline_ms, made.pause_after) == (600_000, 5_400_000, 3)
    shown = [aware(at, zone("Europe/Berlin")).isoformat() for at in (made.start_ms, made.end_ms + 1)]
    assert shown == ["2026-12-01T00:00:00+01:00", "2027-01-01T00:00:00+01:00"]


def test_the_example_of_the_manual_is_right() -> None:
    page = (Path(__file__).parents[2] / "docs" / "schedules.md").read_text("utf-8")
    example = page.partition("```toml\n")[2].partition("```")[0]
    found, faults = file.read(example, lambda workflow, args, profile: tasks.Submission(workflow, 1, args, profile))
    assert faults == []
    assert [made.name for made in found] == ["nightly-report"]


def test_what_is_not_said_is_careful() -> None:
    made = one(WHEN)
    assert (made.overlap, made.catch_up, made.jitter_ms, made.deadline_ms) == (Overlap.FORBID, CatchUp.LATEST, 0, 0)


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ('cron = "0 2 * * *"\n', 1, "zone: it is missing: say in which time zone"),
        ('zone = "Europe/Berln"\ncron = "0 2 * * *"\n', 3, "did you mean Europe/Berlin"),
        ('zone = "UTC"\n', 1, "say when by one of cron, every and at"),
        (f'{WHEN}every = "5m"\n', 5, "say when by one of cron, every and at"),
        ('zone = "UTC"\ncron = "0 25 * * *"\n', 4, "cron '0 25 * * *' is wrong: bad hour"),
        ('zone = "UTC"\nevery = 5\n', 4, "5 is no duration: write it like 90s"),
        ('zone = "UTC"\nevery = "0s"\n', 4, "shorter than 1 s"),
        ('zone = "Europe/Berlin"\nat = 2027-03-28T02:30:00\n', 4, "never comes in Europe/Berlin"),
        ('zone = "Europe/Berlin"\nat = "2027-10-31T02:30"\n', 4, "comes twice in Europe/Berlin: add which"),
        ('zone = "UTC"\nat = "tomorrow"\n', 4, "'tomorrow' is no time"),
        (f'{WHEN}start = 2027-01-02\nend = 2027-01-01T00:00:00\n', 6, "it is before start"),
        ('zone = "Berlin"\nevery = "1h"\nstart = 2027-01-01\n', 3, "zone: time zone 'Berlin' is not known"),
        (f'{WHEN}anchor = 2027-01-01\n', 5, "with every"),
        (f'{WHEN}exclude = ["2026-13-01"]\n', 5, "no date and no two dates"),
        (f'{WHEN}exclude = ["2026-12-02/2026-12-01"]\n', 5, "ends before it begins"),
        (f'{WHEN}exclude = "* * * * *"\n', 1, "it never runs"),
        (f'{WHEN}overlap = "replace"\n', 5, "is none of forbid, queue_one, queue_all, cancel_running, allow"),
        (f'{WHEN}catch_up_max = 3\n', 5, 'it goes with catch_up = "all"'),
        (f'{WHEN}catch_up = "skip"\ncatch_up_window = "1h"\n', 6, "`grace` says how late is on time"),
        (f'{WHEN}grace = "5m"\n', 5, "`catch_up_window` says what is made up for"),
        (f'{WHEN}overlap_max = 3\n', 5, 'overlap = "allow" or "queue_all"'),
        (f'{WHEN}pause_after = -1\n', 5, "no whole number from 0 to 1000"),
        (f'{WHEN}overlp = "allow"\n', 5, "there is no such key: did you mean overlap?"),
        (f'{WHEN}args = {{ number = "many" }}\n', 5, "args: the arguments do not fit shop: number"),
        (f'{WHEN}[schedule.a.args]\nnumber = "many"\n', 5, "args: the arguments do not fit shop: number"),
        (f'{WHEN}profile = "../up"\n', 5, "profile name '../up' is not allowed"),
    ],
)  # fmt: skip
def test_a_fault_is_told_with_its_line(text: str, line: int, why: str) -> None:
    told = fault(text)
    assert told[0] == line, told
    assert told[1].startswith("a: ")
    assert why in told[1]


@pytest.mark.parametrize(
    ("text", "line", "why"),
    [
        ("[schedule.a]\nzone = \n", 2, "Invalid value, at column 8"),
        ("[schedule.a]\nzone = 'UTC'\n[schedule.a]\n", 3, "Cannot declare"),
        ("", 0, "there is no [schedule.NAME] in it"),
        ("[schedules.a]\n", 1, "there is no table 'schedules' here"),
        ("schedule = 3\n", 1, "write each schedule as a table of its own"),
        (f"\n[schedule.'a b']\nworkflow = 'shop'\n{WHEN}", 2, "schedule name 'a b' is not allowed"),
        (f"\n[schedule.a]\n{WHEN}", 2, "workflow: it is missing"),
        (f"\n[schedule.a]\n{WHEN}workflow = 'shoop'\n", 5, "there is no workflow 'shoop' here"),
        (f"\n[schedule.a]\n{WHEN}workflow = 'banking'\n", 5, "banking needs a profile"),
        (f"\n[schedule.a]\nworkflow = 'news'\n{WHEN}profile = 'x'\n", 6, "news takes no profile"),
    ],
)
def test_a_fault_of_the_file(text: str, line: int, why: str) -> None:
    found, faults = read(text)
    assert found == []
    assert [told[0] for told in faults] == [line]
    assert why in faults[0][1]


def test_all_faults_of_all_schedules_are_told_in_order_of_their_lines() -> None:
    text = f"[schedule.b]\nworkflow = 'shop'\n{WHEN}jitter = 1\noverlap = 1\n[schedule.a]\nworkflow = 'x'\n"
    _, faults = read(text)
    assert [line for line, _ in faults] == sorted(line for line, _ in faults)
    assert {reason.partition(":")[0] for _, reason in faults} == {"a", "b"}
    assert len(faults) == 5


def test_an_hour_that_exists_twice_can_be_named() -> None:
    made = one('zone = "Europe/Berlin"\nat = ["2027-10-31T02:30+01:00", 2027-10-30T02:30:00]\n')
    shown = [aware(at, zone("UTC")).isoformat() for at in made.calendar.moments(0)]
    assert shown == ["2027-10-30T00:30:00+00:00", "2027-10-31T01:30:00+00:00"]


def test_a_date_stands_for_a_day_of_the_zone() -> None:
    made = one('zone = "Asia/Kolkata"\nevery = "6h"\nstart = 2027-01-01\nend = 2027-01-01\n')
    shown = [f"{aware(at, zone('Asia/Kolkata')):%d %H:%M}" for at in made.calendar.moments(0)]
    assert shown == ["01 00:00", "01 06:00", "01 12:00", "01 18:00"]
