"""schedules.toml, checked as a whole: every fault with its line and reason, or the definitions."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from koala import names
from koala.errors import InvalidArguments, InvalidName, KoalaError, UnknownWorkflow
from koala.reading import text_of
from koala.schedules import cron
from koala.schedules.definition import CatchUp, Definition, Order, Overlap, exclusions
from koala.schedules.errors import InvalidSchedule
from koala.schedules.table import Table
from koala.tasks import Submission

Check = Callable[[str, dict[str, Any], str], Submission]
"""Checks workflow, arguments and profile as `koala submit` does."""
WHEN = ("cron", "every", "at")


@dataclass(frozen=True)
class Fault:
    """What is wrong on a line; 0 stands for the file as a whole."""

    line: int
    schedule: str
    reason: str

    def __str__(self) -> str:
        return f"{self.schedule}: {self.reason}" if self.schedule else self.reason


def load(path: Path, check: Check) -> tuple[list[Definition], list[Fault]]:
    """The definitions and the faults of a file. Raises InvalidSchedule when it cannot be read."""
    try:
        return read(text_of(path), check)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidSchedule(f"{path} cannot be read: {error}") from None


def read(text: str, check: Check) -> tuple[list[Definition], list[Fault]]:
    """The same for its text. Definitions are of use only when there is no fault."""
    try:
        whole = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return [], [_syntax(error, text)]
    tables = whole.pop("schedule", {})
    faults = [
        Fault(line_of(text, "", key), "", f"there is no table {key!r} here, only [schedule.NAME]") for key in whole
    ]
    if not isinstance(tables, dict) or not all(isinstance(table, dict) for table in tables.values()):
        return [], [*faults, Fault(1, "", "write each schedule as a table of its own: [schedule.NAME]")]
    if not tables and not faults:
        faults.append(Fault(0, "", "there is no [schedule.NAME] in it"))
    found: list[Definition] = []
    for name, table in tables.items():
        definition, wrong = one(name, table, check)
        faults += [Fault(line_of(text, name, key), name, f"{key}: {why}" if key else why) for key, why in wrong]
        found += [definition] if definition else []
    return found, sorted(faults, key=lambda fault: fault.line)


def one(name: str, given: Mapping[str, Any], check: Check) -> tuple[Definition | None, list[tuple[str, str]]]:
    """One schedule of its table, or the keys that are wrong and why."""
    table = Table(given)
    try:
        names.check("schedule", name)
    except InvalidName as error:
        table.fault("", str(error))
    made = {**_when(table), **_policies(table), **_what(table, check)}
    table.rest()
    if table.faults:
        return None, table.faults
    definition = Definition(name=name, **made)
    never = "" if definition.calendar.after(0) is not None else "it never runs: no planned time is left over"
    return (None, [("", never)]) if never else (definition, [])


def _when(table: Table) -> dict[str, Any]:
    place = table.place("zone")
    chosen = [key for key in WHEN if table.has(key)]
    if len(chosen) != 1:
        table.fault(chosen[1] if chosen else "", "say when by one of cron, every and at")
    every, crons, except_ = table.span("every", least=1000), _crons(table), table.texts("exclude")
    _tried(table, "exclude", lambda: exclusions(except_))
    if place is None:
        table.leave("at", "anchor", "start", "end")  # what they mean is not known without a zone
        return {}
    if table.has("anchor") and not table.has("every"):
        table.fault("anchor", "it goes with every")
    start, end = table.moment("start", place), table.moment("end", place, last=True)
    if end and end < start:
        table.fault("end", "it is before start")
    anchor = table.moment("anchor", place) if table.has("anchor") else start
    return {
        "zone": place.key, "cron": crons, "every_ms": every, "anchor_ms": anchor, "at_ms": table.moments("at", place),
        "start_ms": start, "end_ms": end, "exclude": except_,
    }  # fmt: skip


def _crons(table: Table) -> tuple[str, ...]:
    texts = table.texts("cron")
    for text in texts:
        _tried(table, "cron", lambda text=text: cron.read(text))  # type: ignore[misc]
    return texts


def _policies(table: Table) -> dict[str, Any]:
    catch_up = table.choice("catch_up", CatchUp.LATEST)
    overlap = table.choice("overlap", Overlap.FORBID)
    for key in ("catch_up_max", "catch_up_order"):
        if table.has(key) and catch_up is not CatchUp.ALL:
            table.fault(key, 'it goes with catch_up = "all"')
    if table.has("catch_up_window") and catch_up is CatchUp.SKIP:
        table.fault("catch_up_window", 'it does not go with catch_up = "skip": `grace` says how late is on time')
    if table.has("grace") and catch_up is not CatchUp.SKIP:
        table.fault("grace", 'it goes with catch_up = "skip": `catch_up_window` says what is made up for')
    if table.has("overlap_max") and overlap not in (Overlap.ALLOW, Overlap.QUEUE_ALL):
        table.fault("overlap_max", 'it goes with overlap = "allow" or "queue_all"')
    default = Definition.window_ms
    return {
        "catch_up": catch_up, "overlap": overlap, "window_ms": table.span("catch_up_window", default, least=1000),
        "catch_up_max": table.whole("catch_up_max", Definition.catch_up_max, 1, 1000),
        "catch_up_order": table.choice("catch_up_order", Order.OLDEST),
        "grace_ms": table.span("grace", Definition.grace_ms, least=1000),
        "overlap_max": table.whole("overlap_max", Definition.overlap_max, 1, 1000),
        "jitter_ms": table.span("jitter"), "deadline_ms": table.span("deadline", least=1000),
        "pause_after": table.whole("pause_after", 0, 0, 1000),
    }  # fmt: skip


def _what(table: Table, check: Check) -> dict[str, Any]:
    """What it runs; asked of the program's own workflows."""
    workflow, profile, args = table.text("workflow"), table.text("profile"), table.mapping("args")
    priority = table.whole("priority", 0, -9, 9)
    if not workflow:
        if not table.has("workflow"):
            table.fault("workflow", "it is missing: say what to run")
        return {}
    try:
        made = check(workflow, args, profile)
    except KoalaError as error:
        table.fault(_blamed(error, table), str(error))
        return {}
    return {
        "workflow": made.workflow, "version": made.version, "args": made.args, "profile": made.profile,
        "priority": priority, "max_attempts": made.max_attempts,
    }  # fmt: skip


def _blamed(error: KoalaError, table: Table) -> str:
    """The key that a refusal of `koala.client` is about."""
    if isinstance(error, UnknownWorkflow):
        return "workflow"
    about_profile = isinstance(error, InvalidName) or "profile" in str(error).partition(":")[0]
    if about_profile and isinstance(error, (InvalidArguments, InvalidName)):
        return "profile" if table.has("profile") else "workflow"
    return "args" if table.has("args") else "workflow"


def _tried(table: Table, key: str, read: Callable[[], object]) -> None:
    try:
        read()
    except InvalidSchedule as error:
        table.fault(key, str(error))


def _syntax(error: tomllib.TOMLDecodeError, text: str) -> Fault:
    told = str(error)
    found = re.search(r"\s*\(at line (\d+), column (\d+)\)$", told)
    if not found:  # at the end of the document, or about a table that is there twice
        return Fault(text.count("\n") + 1, "", re.sub(r"\s*\(at end of document\)$", " at the end of the file", told))
    return Fault(int(found[1]), "", f"{told[: found.start()]}, at column {found[2]}")


def line_of(text: str, name: str, key: str) -> int:
    """The line of a schedule's key; of its header where the key is not there; 1 when that is written otherwise."""
    lines = text.splitlines()
    header = re.compile(rf"\s*\[+\s*schedule\s*\.\s*{_word(name)}\s*(\.|\])") if name else None
    begin = next((at for at, line in enumerate(lines) if header and header.match(line)), None if name else 0)
    if begin is None:
        return 1
    wanted = re.compile(rf"\s*(\[+\s*(schedule\s*\.\s*{_word(name)}\s*\.\s*)?)?{_word(key)}\s*[=.\]]") if key else None
    for at in range(begin, len(lines)):
        if at > begin and name and lines[at].lstrip().startswith("[") and not (header and header.match(lines[at])):
            break
        if wanted and wanted.match(lines[at]):
            return at + 1
    return begin + 1


def _word(name: str) -> str:
    bare = re.escape(name)
    return f"(?:{bare}|\"{bare}\"|'{bare}')"
