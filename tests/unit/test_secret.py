"""A secret file that cannot be used says why, what to do, and never its value."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from koala import secret
from koala.errors import SettingsError

VALUE = "battery-staple"
SOMEBODY = 65534


@pytest.fixture
def file() -> Iterator[Path]:
    """A good one, in a directory that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        made = Path(folder) / "shop_password"
        made.write_text(VALUE)
        made.chmod(0o400)
        yield made


@contextmanager
def somebody_else() -> Iterator[None]:
    """Not root and not the owner, until the end."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    os.seteuid(SOMEBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def refusal(path: Path) -> str:
    """What reading it says."""
    with pytest.raises(SettingsError) as error:
        secret.read(path)
    assert VALUE not in str(error.value)
    return str(error.value)


def test_a_good_one_is_its_value(file: Path) -> None:
    assert secret.read(file) == VALUE


def test_one_that_is_missing(file: Path) -> None:
    file.unlink()
    assert "is missing: create it with mode 0400" in refusal(file)


@pytest.mark.parametrize(
    ("text", "mode", "said"),
    [
        ("", 0o400, "is empty: write the value into it"),
        (f"{VALUE}\n", 0o400, "ends in a newline: write it with printf"),
        (VALUE, 0o404, "is readable by everyone: chmod 0400 it"),
    ],
)
def test_one_that_is_empty_has_a_newline_or_is_open_to_all(file: Path, text: str, mode: int, said: str) -> None:
    file.chmod(0o600)
    file.write_text(text)
    file.chmod(mode)
    assert said in refusal(file)


def test_one_of_somebody_elses_names_both_by_number(file: Path) -> None:
    """In a container names of users mean nothing."""
    with somebody_else():
        said = refusal(file)
    assert "is not ours to read: it belongs to uid 0, and we are uid 65534" in said
    assert "Make it belong to uid 65534, mode 0400" in said


def test_one_in_a_closed_directory(file: Path) -> None:
    file.parent.chmod(0o700)
    with somebody_else():
        said = refusal(file)
    assert "its directory is closed to us, and we are uid 65534" in said
