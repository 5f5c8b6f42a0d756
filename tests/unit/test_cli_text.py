"""Nothing that a task says controls a terminal, hides itself or carries a secret; how times read."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from koala import redaction
from koala.cli import story
from koala.cli.output import listing
from koala.cli.program import words
from koala.cli.text import as_json, brief, foreign, lines, pretty, visible
from koala.cli.times import moment, moment_or_span
from koala.errors import InvalidArguments
from koala.span import span
from koala.timeline import Event

BIDI = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f\u061c"
INVISIBLE = "\u200b\u200c\u200d\u2060\ufeff\u00ad\u034f\u115f\u3164\u2800\ufe0f\u00a0\u2028\u2029\U000e0041"
CONTROL = "".join(map(chr, [*range(32), 127, *range(128, 160)]))


def drawn(shown: RenderableType, width: int = 80) -> str:
    file = io.StringIO()
    Console(file=file, width=width, markup=False, emoji=False, highlight=False).print(shown)
    return file.getvalue()


@pytest.mark.parametrize("char", BIDI + INVISIBLE + CONTROL)
def test_a_character_that_cannot_be_seen_is_spelled_out(char: str) -> None:
    shown = visible(f"a{char}b")
    assert char not in shown
    assert shown.startswith("a\\")
    assert shown.isascii()


@pytest.mark.parametrize("char", [*BIDI, *INVISIBLE, *CONTROL, "\ud800"])
def test_json_spells_it_out_too_and_says_the_same(char: str) -> None:
    value = {f"k{char}": [f"zoë{char}b", 1]}
    text = as_json(value)
    assert "zoë" in text
    assert char in " \n" or char not in text.replace("\n", "")
    assert json.loads(text) == value


def test_json_for_few_letters_is_still_json() -> None:
    assert json.loads(as_json("zoë 🦘", ascii_only=True)) == "zoë 🦘"
    assert as_json("zoë 🦘", ascii_only=True).isascii()


def test_letters_of_any_script_stay() -> None:
    text = "Ölçü 注文 заказ مرحبا 🦘 [bold]x[/bold] :koala:"
    assert visible(text) == text
    assert drawn(foreign(text)).rstrip("\n") == text


def test_half_a_surrogate_pair_is_spelled_out() -> None:
    assert visible("\ud800") == "\\ud800"


def test_only_meant_line_breaks_break_a_line() -> None:
    assert lines("one\ntwo\r") == "one\ntwo\\r"
    assert visible("one\ntwo") == "one\\ntwo"


def test_a_known_secret_is_stars_everywhere() -> None:
    redaction.know("hunter2-and-more")
    for shown in (
        visible("x hunter2-and-more"),
        pretty({"a": "hunter2-and-more"}),
        brief(["hunter2-and-more"]),
    ):
        assert "hunter2" not in shown
        assert redaction.STARS in shown


def test_a_secret_that_is_cut_is_still_stars() -> None:
    """Cutting first would leave a piece that nothing recognises."""
    redaction.know("s3cret-" + "x" * 40)
    text = "a" * 110 + "s3cret-" + "x" * 40
    assert "s3cret" not in brief(text)
    assert "s3cret" not in pretty({"a": text}, most=130)


def test_a_long_value_is_cut_and_says_so() -> None:
    assert pretty("x" * 3000).endswith("(3002 characters; --json shows all)")
    assert len(brief("x" * 300)) == 120


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-5, "0.0 s"),
        (1234, "1.2 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_601_000, "1 h"),
        (90_061_000, "1 d 1 h"),
    ],
)
def test_a_span_is_told_in_its_two_largest_units(ms: int, text: str) -> None:
    assert span(ms) == text


def test_a_time_with_a_zone_is_that_time_and_one_without_is_local() -> None:
    assert moment("--at", "2031-05-04T09:00Z") == datetime(2031, 5, 4, 9, tzinfo=UTC)
    assert moment("--at", "2031-05-04T09:00") == datetime(2031, 5, 4, 9).astimezone()


def test_a_deadline_may_be_a_span_from_now() -> None:
    before = datetime.now(UTC)
    assert moment_or_span("--deadline", "90m") - before - timedelta(minutes=90) < timedelta(seconds=30)


@pytest.mark.parametrize("text", ["soon", "", "9", "99999999999999999d", "2031-13-01"])
def test_what_is_no_time_is_refused(text: str) -> None:
    with pytest.raises(InvalidArguments, match="--deadline"):
        moment_or_span("--deadline", text)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_listing_never_wraps_and_cuts_only_what_may_be_cut(width: int) -> None:
    table = listing(["id", "name…", ">age", "why…"], [["0123456789abcdefgh", "n" * 30, "1 min", "w" * 200]], width)
    *_, row = drawn(table, width).splitlines()
    assert cell_len(row) <= width
    assert "0123456789abcdefgh" in row
    assert "1 min" in row
    assert "w…" in row


def test_a_listing_that_fits_is_not_cut() -> None:
    assert "…" not in drawn(listing(["id", "why…"], [[Text("a"), Text("short")]], 80), 80)


def told(action: str, **data: Any) -> str:
    return story.sentence(Event("1-1", 0, action, data))


def test_a_timeline_reads_as_sentences() -> None:
    assert told("effect_sent", operation="shop/order/1", **{"try": 2}) == "effect shop/order/1 is sent, try 2"
    assert told("task_failed", why="TimeoutError") == "the task is failed: TimeoutError"
    assert told("attempt_ended", fence="1.2", outcome="done", why="done") == "attempt 1.2 ends: done"


def test_an_action_of_a_newer_koala_is_told_with_all_it_carries() -> None:
    assert told("moon_rose", phase="full", why="tide") == "moon_rose phase=full: tide"


def test_a_missing_word_of_an_event_does_not_hide_the_event() -> None:
    assert told("step_started") == "step ? begins"


def test_what_a_task_says_is_not_taken_as_a_format() -> None:
    assert told("log", text="{operation} {0} %s") == "{operation} {0} %s"


def test_options_are_passed_on_as_they_were_typed() -> None:
    passed = words(arg=["a=-1", "b="], profile="", headed=True, act=False, because="--no")
    assert passed == ["--arg=a=-1", "--arg=b=", "--headed", "--because=--no"]
