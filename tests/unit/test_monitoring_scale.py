"""A test's Prometheus runs production's files in a shorter time: every duration, and nothing else, is scaled."""

from __future__ import annotations

import re
from pathlib import Path

from monitoring.scale import copy, scaled

PROMETHEUS = Path(__file__).resolve().parents[2] / "monitoring" / "prometheus"
FILES = [PROMETHEUS / "prometheus.yml", *sorted((PROMETHEUS / "rules").glob("*.yml"))]


def test_production_is_the_files_as_they_are(tmp_path: Path) -> None:
    copy(1, PROMETHEUS, tmp_path)
    for file in FILES:
        assert (tmp_path / file.relative_to(PROMETHEUS)).read_bytes() == file.read_bytes()


def test_ranges_fields_offsets_and_limits_are_scaled() -> None:
    text = "for: 10m\nscrape_interval: 10s\nexpr: rate(x[5m]) > y offset 5m\n      > vector(300)  # seconds\n"
    shorter = (
        "for: 6000ms\nscrape_interval: 100ms\nexpr: rate(x[3000ms]) > y offset 3000ms\n      > vector(3)  # seconds\n"
    )
    assert scaled(text, 0.01) == shorter


def test_counts_and_shares_are_not_scaled() -> None:
    text = "expr: vector(11)\nexpr: x >= 3 and y > 0.3\nport: 9464\n"
    assert scaled(text, 0.01) == text


def test_no_duration_of_the_real_files_is_left_out() -> None:
    """A number with a unit that stays as it was would make a test wait for minutes, or never fire."""
    for file in FILES:
        code = re.sub(
            r"#(?! seconds$).*|^\s+(?:summary|description|runbook).*$", "", file.read_text(), flags=re.MULTILINE
        )
        code = re.sub(r"description: >-\n(?: {12}.*\n)+", "", code)
        before = re.findall(r"(?<![\w.])\d+(?:ms|s|m|h|d)\b", code)
        after = re.findall(r"(?<![\w.])\d+(?:ms|s|m|h|d)\b", scaled(code, 0.001))
        assert len(before) == len(after)
        assert [duration for duration in after if not duration.endswith("ms")] == [], file


def test_every_limit_in_seconds_says_that_it_is_one() -> None:
    """`time() - x > 60` would not be scaled."""
    for file in (PROMETHEUS / "rules").glob("*.yml"):
        for line in file.read_text().splitlines():
            numbers = [int(number) for number in re.findall(r"[<>]=? (?:vector\()?(\d{2,})\b", line)]
            assert not numbers or "# seconds" in line or numbers == [10], line
