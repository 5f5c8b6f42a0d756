"""`koala schedule …`, as a person types it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from koala import keys
from koala.schedules.fire import fire
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import unchanged
from tests.support.redis_server import RedisServer
from tests.support.schedules import back, made

NIGHTLY = """
[schedule.nightly]
workflow = "news"
zone = "Europe/Berlin"
cron = "30 2 * * *"
"""
PULSE = """
[schedule.pulse]
workflow = "shop"
args = { text = "x" }
zone = "Australia/Lord_Howe"
every = "15m"
"""


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


class TestApply:
    def test_new_ones_are_off_changed_ones_have_a_new_revision_and_missing_ones_stay(
        self, koala: Cli, tmp_path: Path
    ) -> None:
        path = tmp_path / "schedules.toml"
        path.write_text(NIGHTLY + PULSE)
        assert koala.ok("schedule", "apply", str(path)).err.count("new, and off") == 2
        path.write_text(NIGHTLY + 'deadline = "1h"\n')
        said = koala.ok("schedule", "apply", str(path)).err
        assert "nightly: changed, revision 2" in said
        assert "pulse: is not in" in said
        assert [item["name"] for item in koala.ok("schedule", "list", "--json").data] == ["nightly", "pulse"]
        found = koala.ok("schedule", "apply", str(path), "--remove", "--json").data
        assert (found["schedules"], found["removed"]) == ({"nightly": "as it was"}, ["pulse"])
        assert [item["name"] for item in koala.ok("schedule", "list", "--json").data] == ["nightly"]

    def test_one_fault_and_nothing_is_changed(self, koala: Cli, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "schedules.toml"
        path.write_text(NIGHTLY + PULSE.replace("15m", "15"))
        with unchanged(store):
            said = koala("schedule", "apply", str(path))
        assert said.code == 2
        lines = said.err.splitlines()
        assert lines[0] == f"{path}:11: pulse: every: '15' is no duration: write it like 90s, 30m, 1h 30m or 7d"
        assert lines[1] == f"error[invalid_schedule]: {path}: 1 fault, nothing was changed"
        assert koala("schedule", "apply", str(path), "--json").data["faults"][0]["line"] == 11

    def test_arguments_that_are_too_large(self, koala: Cli, tmp_path: Path) -> None:
        path = tmp_path / "schedules.toml"
        path.write_text(PULSE.replace('"x"', f'"{300_000 * "x"}"'))
        assert f"{path}:4: pulse: args: the arguments are" in koala("schedule", "apply", str(path)).err

    def test_checking_alone_changes_nothing(self, koala: Cli, store: Store, tmp_path: Path) -> None:
        path = tmp_path / "schedules.toml"
        path.write_text(NIGHTLY)
        with unchanged(store):
            assert "nightly: is right" in koala.ok("schedule", "apply", str(path), "--dry-run").err

    def test_a_file_that_is_not_there(self, koala: Cli) -> None:
        assert "cannot be read" in koala.fails(2, "invalid_schedule", "schedule", "apply", "/nowhere.toml")

    def test_one_that_is_on_is_not_changed_to_what_could_not_be_enabled(self, koala: Cli, tmp_path: Path) -> None:
        path = apply(koala, tmp_path, PULSE)
        koala.ok("schedule", "enable", "pulse")
        path.write_text(PULSE + 'deadline = "1h"\n')
        said = koala("schedule", "apply", str(path))
        assert (said.code, "pulse: it has a deadline of 1 h, longer than" in said.err) == (2, True)
        assert f"{path}:7:" in said.err


def apply(koala: Cli, folder: Path, text: str) -> Path:
    """Store these."""
    path = folder / "schedules.toml"
    path.write_text(text)
    koala.ok("schedule", "apply", str(path))
    return path


class TestEnable:
    def test_the_next_ten_runs_are_shown_in_the_zone_and_in_utc(self, koala: Cli, tmp_path: Path) -> None:
        apply(koala, tmp_path, NIGHTLY)
        said = koala.ok("schedule", "enable", "nightly")
        ten, *rest = said.out.split("when the clocks are changed next:")
        assert ten.count("Z\n") == len(re.findall(r"0[23]:[03]0:00 \+0[12]00  20\d\d-", ten)) == 10
        assert "the clocks go " in ten + "".join(rest)
        assert "schedule nightly is on" in said.err
        assert len(koala.ok("schedule", "enable", "nightly", "--json").data["next"]) == 10

    def test_a_deadline_that_reaches_into_the_next_run_is_refused_or_told(self, koala: Cli, tmp_path: Path) -> None:
        apply(koala, tmp_path, PULSE + 'deadline = "1h"\n')
        said = koala("schedule", "enable", "pulse")
        assert (said.code, "error[refused]" in said.err, said.out.count("+1") >= 10) == (4, True, True)
        apply(koala, tmp_path, PULSE + 'deadline = "1h"\noverlap = "queue_one"\n')
        assert "has a deadline of 1 h, longer than" in koala.ok("schedule", "enable", "pulse").err
        apply(koala, tmp_path, PULSE + 'deadline = "1h"\noverlap = "allow"\n')
        assert "deadline" not in koala.ok("schedule", "enable", "pulse").err

    def test_one_with_nothing_left_is_refused(self, koala: Cli, tmp_path: Path) -> None:
        apply(koala, tmp_path, PULSE + "end = 2026-01-01\n")
        assert "no planned time left" in koala.fails(4, "refused", "schedule", "enable", "pulse")


class TestOthers:
    def test_preview_tells_what_the_clocks_do(self, koala: Cli, tmp_path: Path) -> None:
        apply(koala, tmp_path, NIGHTLY)
        shown = koala.ok("schedule", "preview", "nightly", "--from", "2027-03-27T12:00", "--count", "1").out
        assert "Sun 2027-03-28 03:00:00 +0200  2027-03-28 01:00:00Z" in shown
        assert "the clocks go forward by 1 h on 2027-03-28" in shown
        assert "its time does not exist that day" in shown

    def test_the_life_of_one(self, koala: Cli, store: Store, tmp_path: Path) -> None:
        apply(koala, tmp_path, PULSE)
        koala.ok("schedule", "enable", "pulse")
        back(store, "pulse", 900_000)
        fire(store, 10)
        (task,) = made(store, "pulse")
        shown = koala.ok("schedule", "show", "pulse").out
        for text in ("pulse, revision 1", "on, by", "every 15 min (Australia/Lord_Howe)", f"{task.id} (ready)"):
            assert text in shown
        assert koala.ok("schedule", "show", "pulse", "--json").data["running"][0]["task"] == task.id
        assert task.id in koala.fails(4, "refused", "schedule", "run-now", "pulse")
        ran = koala.ok("schedule", "run-now", "pulse", "--anyway").out.strip()
        assert koala.ok("task", ran, "--json").data
        assert "is paused" in koala.ok("schedule", "pause", "pulse", "--why", "closed").err
        assert "closed" in koala.ok("schedule", "list").out
        assert "goes on" in koala.ok("schedule", "resume", "pulse").err
        said = koala.ok("schedule", "backfill", "pulse", "--from", "2026-01-01T00:00", "--to", "2026-01-01T01:00").err
        assert "5 wait for their turn" in said
        assert "is off" in koala.ok("schedule", "disable", "pulse").err
        assert koala.ok("schedule", "list", "--json").data[0]["waiting"] == []

    @pytest.mark.parametrize(
        "words", [("show",), ("preview",), ("enable",), ("disable",), ("pause",), ("resume",), ("run-now",)]
    )
    def test_an_unknown_name_is_told_with_what_was_perhaps_meant(
        self, koala: Cli, tmp_path: Path, words: tuple[str, ...]
    ) -> None:
        apply(koala, tmp_path, PULSE)
        assert "did you mean pulse?" in koala.fails(3, "not_found", "schedule", *words, "plse")

    def test_one_whose_zone_this_machine_does_not_know_is_listed_and_can_be_turned_off(
        self, koala: Cli, store: Store, tmp_path: Path
    ) -> None:
        apply(koala, tmp_path, PULSE)
        definition = store.hash(keys.schedule("pulse"))["definition"].replace("Australia/Lord_Howe", "Mars/Crater")
        store.client.hset(keys.schedule("pulse"), "definition", definition)
        store.client.hset(keys.schedule("pulse"), "status", "on")
        assert "time zone 'Mars/Crater' is not known" in koala.ok("schedule", "list").out
        assert "not known here" in koala.fails(2, "invalid_schedule", "schedule", "show", "pulse")
        koala.ok("schedule", "disable", "pulse")

    def test_no_schedules_yet(self, koala: Cli) -> None:
        assert "koala schedule apply" in koala.ok("schedule", "list").err
