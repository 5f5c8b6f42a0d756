"""The generated page says what the code does."""

from __future__ import annotations

from pathlib import Path

from koala import reference
from koala.settings import Settings

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_settings_is_not_stale() -> None:
    """`python -m koala.reference > docs/settings.md` was run after the last change of a setting or an exit code."""
    assert (ROOT / "docs" / "settings.md").read_text("utf-8") == reference.page()


def test_every_setting_is_described() -> None:
    """A person can look up each variable."""
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []
