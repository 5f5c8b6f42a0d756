"""The lock files and the wheel hold what they promise."""

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
LOCKS = ("requirements.lock", "requirements-dev.lock")
PROGRAMS = {"koala", "worker", "scheduler", "workflows", "demo"}


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def locked(lock: str) -> dict[str, str]:
    """The entries of a lock by canonical name, each with its hashes on one line."""
    text = (ROOT / lock).read_text().replace("\\\n", " ")
    entries = [line for line in text.splitlines() if line.strip()]
    return {canonicalize_name(re.split(r"[=\[ ]", entry)[0]): entry for entry in entries}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_entry_has_an_exact_version_and_hashes_and_nothing_else(lock: str) -> None:
    shape = r"[a-z0-9.\[\]_-]+==[^\s;]+( ; [^#@/]+?)?(\s+--hash=sha256:[0-9a-f]{64})+\s*"
    assert [entry for entry in locked(lock).values() if not re.fullmatch(shape, entry)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_no_index_or_link_is_named(lock: str) -> None:
    assert re.findall(r"://|--index|--extra|--find|file:", (ROOT / lock).read_text()) == []


@pytest.mark.parametrize("lock", LOCKS)
def test_what_the_project_and_its_build_need_is_locked_within_its_bounds(lock: str) -> None:
    groups = project()["dependency-groups"]
    needs = project()["project"]["dependencies"] + groups["build"] + project()["build-system"]["requires"]
    if lock == "requirements-dev.lock":
        needs += groups["dev"]
    for need in map(Requirement, needs):
        version = locked(lock)[canonicalize_name(need.name)].split("==")[1].split()[0]
        assert need.specifier.contains(version), f"{need} is locked as {version}: run make lock"


def test_the_dev_lock_holds_the_runtime_lock() -> None:
    runtime, dev = map(locked, LOCKS)
    assert {name: dev.get(name) for name in runtime} == runtime


def test_the_wheel_holds_the_programs_and_no_tests(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == PROGRAMS
    sources = {str(path.relative_to(ROOT)) for name in PROGRAMS for path in (ROOT / name).rglob("*.lua")}
    assert sources <= set(names)
