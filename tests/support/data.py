"""A data volume for one test, on a disk whose locks count."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from koala.errors import VolumeError
from worker import volume
from worker.volume import Volume

BUILD = Path(__file__).resolve().parents[2] / "build" / "tests"


@contextmanager
def data_volume() -> Iterator[Volume]:
    """A new volume, removed at the end; in a directory with a space, as a user's may be."""
    home = Path(tempfile.mkdtemp(prefix="koala data ", dir=_disk()))
    try:
        yield volume.create(home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _disk() -> Path:
    # Where /tmp is a tmpfs, its locks are refused.
    try:
        volume.refuse_unfit(Path(tempfile.gettempdir()))
    except VolumeError:
        BUILD.mkdir(parents=True, exist_ok=True)
        return BUILD
    return Path(tempfile.gettempdir())
