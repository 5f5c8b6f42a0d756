"""Slots that do not fit the container are refused, with the sum."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from koala.errors import SettingsError
from koala.exits import Exit
from koala.settings import Settings
from worker import capacity, cgroup

MEBI = 1024**2


def settings(slots: int = 2) -> Settings:
    return Settings(slots=slots, slot_bytes=700 * MEBI, worker_bytes=100 * MEBI)


def write(root: Path, files: dict[str, object]) -> Path:
    """A root directory with these files."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n")
    return root


NEW = {"proc/self/cgroup": "0::/"}
OLD = {"proc/self/cgroup": "5:cpu,cpuacct:/docker/abc\n4:memory:/docker/abc\n3:pids:/docker/abc\n0::/"}
SYS = "sys/fs/cgroup"


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        pytest.param({**NEW, f"{SYS}/memory.max": 5 * MEBI}, 5 * MEBI, id="new, in a container"),
        pytest.param(
            {"proc/self/cgroup": "0::/a/b", f"{SYS}/a/b/memory.max": "max", f"{SYS}/a/memory.max": 3 * MEBI},
            3 * MEBI,
            id="new, the limit is further up",
        ),
        pytest.param(
            {"proc/self/cgroup": "0::/a/b", f"{SYS}/a/b/memory.max": 2 * MEBI, f"{SYS}/a/memory.max": 3 * MEBI},
            2 * MEBI,
            id="new, two limits",
        ),
        pytest.param(
            {**OLD, f"{SYS}/memory/docker/abc/memory.limit_in_bytes": 7 * MEBI}, 7 * MEBI, id="old, on the machine"
        ),
        pytest.param({**OLD, f"{SYS}/memory/memory.limit_in_bytes": 7 * MEBI}, 7 * MEBI, id="old, in a container"),
        pytest.param({**OLD, f"{SYS}/memory/memory.limit_in_bytes": 9223372036854771712}, None, id="old, unlimited"),
        pytest.param({**NEW, f"{SYS}/memory.max": "max"}, None, id="new, unlimited"),
        pytest.param({}, None, id="no cgroups at all"),
    ],
)
def test_the_limit_that_holds_is_found(tmp_path: Path, files: dict[str, object], limit: int | None) -> None:
    assert cgroup.memory_limit(write(tmp_path, files)) == limit


def test_slots_that_do_not_fit_are_refused_with_the_sum_and_what_would(tmp_path: Path) -> None:
    root = write(tmp_path, {**NEW, f"{SYS}/memory.max": 2200 * MEBI})
    capacity.check(settings(3), root)
    with pytest.raises(SettingsError) as refused:
        capacity.check(settings(4), root)
    assert refused.value.exit == Exit.SETTINGS
    text = str(refused.value)
    assert "is 4 x 700 + 100 = 2900 MiB" in text
    assert "the limit of this container is 2200 MiB" in text
    assert "set KOALA_SLOTS to 3" in text


def test_when_not_even_one_fits_it_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="none fits"):
        capacity.check(settings(1), write(tmp_path, {**NEW, f"{SYS}/memory.max": 600 * MEBI}))


def test_nothing_is_checked_without_a_limit(tmp_path: Path) -> None:
    capacity.check(settings(64), tmp_path)


def test_few_processes_and_few_files_are_warned_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 1024))
    with capture_logs() as logs:
        capacity.check(settings(2), write(tmp_path, {**NEW, f"{SYS}/pids.max": 100}))
    assert [(line["limit"], line["allowed"], line["needed"]) for line in logs] == [
        ("nofile", 256, capacity.FILES_A_BROWSER),
        ("pids", 100, 2 * capacity.PROCESSES_A_SLOT),
    ]
