"""A scheduler says how it is: well while it reaches the store, whether it is active or stands by."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from koala.errors import SettingsError
from koala.health import look
from koala.settings import Settings
from koala.store import Store
from scheduler.loop import AWAY_LONG_S, TELL_S, Scheduler


@pytest.fixture
def config(store: Store, redis_url: str, tmp_path: Path) -> Settings:
    return Settings(redis_url=redis_url, health=tmp_path / "health")


def tell(scheduler: Scheduler, after_s: float = 0) -> None:
    """As after so many seconds without a successful tick."""
    scheduler._reached_at -= after_s
    scheduler._tell_at -= TELL_S
    scheduler._tell()


def test_active_and_standby_are_well_and_say_which_they_are(config: Settings, tmp_path: Path) -> None:
    other = config.model_copy(update={"health": tmp_path / "other"})
    for settings, active in ((config, True), (other, False)):
        assert settings.health
        scheduler = Scheduler(settings)
        assert "only begun" in look(settings.health)
        scheduler.tick()
        tell(scheduler)
        assert look(settings.health) == ""
        assert json.loads(settings.health.read_text())["active"] is active


def test_a_store_that_is_away_for_long_makes_it_unwell_and_a_short_outage_does_not(config: Settings) -> None:
    assert config.health
    scheduler = Scheduler(config)
    tell(scheduler, AWAY_LONG_S - 1)
    assert look(config.health) == ""
    tell(scheduler, 2)
    assert json.loads(config.health.read_text())["why"] == "it has not reached the store for 31 s"


def test_a_file_that_cannot_be_written_stops_the_start(config: Settings, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="KOALA_HEALTH"):
        Scheduler(config.model_copy(update={"health": tmp_path / "missing" / "health"}))
