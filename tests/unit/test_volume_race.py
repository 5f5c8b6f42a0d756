"""Two workers that start at once on a data directory that is not there yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from koala.errors import VolumeError
from worker import volume

STARTS = 8


def test_starts_at_once_agree_on_one_volume(tmp_path: Path) -> None:
    """Nobody sees a directory without its mark, and what the slower ones made is gone."""
    for number in range(20):
        path = tmp_path / f"data-{number}"
        together = Barrier(STARTS)

        def start(path: Path = path, together: Barrier = together) -> str:
            together.wait()
            return volume.open_or_make(path).mark

        with ThreadPoolExecutor(STARTS) as threads:
            marks = {future.result() for future in [threads.submit(start) for _ in range(STARTS)]}
        assert len(marks) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == sorted(f"data-{number}" for number in range(20))


def test_an_empty_directory_that_is_there_is_refused(tmp_path: Path) -> None:
    """It may be a mount point without its mount."""
    with pytest.raises(VolumeError, match="worker init"):
        volume.open_or_make(tmp_path)
