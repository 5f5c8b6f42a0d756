"""As another user, with nothing but what a bare container gives: browsers start in Chromium's own sandbox."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import koala
from tests.support.data import data_volume

ROOT = Path(koala.__file__).parents[1]
USER = 10001

SCRIPT = """
mount --bind "$1" /mnt
mount -t tmpfs -o ro tmpfs /home
[ -z "$2" ] || mount --bind "$2" /dev/shm
shift 2
exec setpriv --reuid {user} --regid {user} --clear-groups --bounding-set=-all --no-new-privs "$@"
"""
"""In a mount namespace of its own: our interpreter where that user may read it, a home that nobody can write, and
what is given as /dev/shm."""
CHECK = """
import os, sys
from worker.commands.doctor import launch
sys.argv[1:] = [str(os.getppid())]
launch.main()
"""
"""It dies with its parent, whose pid it is told."""


def may_change_user() -> bool:
    """Whether we are root, with all that this takes."""
    if os.geteuid() != 0 or not shutil.which("unshare") or not shutil.which("setpriv"):
        return False
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0


def user_namespaces() -> bool:
    """Whether the kernel lets that user make the namespaces of a sandbox."""
    made = ["setpriv", f"--reuid={USER}", "--clear-groups", "unshare", "--user", "--pid", "--net", "--fork", "true"]
    return subprocess.run(made, capture_output=True, check=False).returncode == 0


def launch_as_user(data: Path, shm: str) -> dict[str, Any]:
    """The launch check, run as that user: what it says."""
    interpreter = Path(sys.executable).resolve()
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": f"{ROOT}:{packages}",
        "PYTHONDONTWRITEBYTECODE": "1",
        "LD_LIBRARY_PATH": "/mnt/lib",
        "HOME": "/home/koala-agent",
        "KOALA_DATA": str(data),
    }
    alone = ["unshare", "--mount", "sh", "-ec", SCRIPT.format(user=USER), "sh", str(interpreter.parents[1]), shm]
    said = subprocess.run(
        [*alone, f"/mnt/bin/{interpreter.name}", "-c", CHECK],
        env=environment,
        cwd="/",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert said.returncode == 0, said.stderr
    found: dict[str, Any] = json.loads(said.stdout)
    return found


@pytest.mark.skipif(not may_change_user(), reason="needs root, unshare and setpriv")
@pytest.mark.skipif(may_change_user() and not user_namespaces(), reason="this kernel has no user namespaces for users")
@pytest.mark.parametrize("shared_memory", [True, False])
def test_browsers_start_in_their_sandbox_without_a_home(tmp_path: Path, shared_memory: bool) -> None:
    """Without shared memory too: /dev/shm is one that is read-only then."""
    with data_volume() as where:
        for folder in (where.path, *where.path.rglob("*")):
            os.chown(folder, USER, USER)
        read_only = tmp_path / "shm"
        read_only.mkdir(mode=0o555)
        found = launch_as_user(where.path, "" if shared_memory else str(read_only))
    assert found == {"there": True, "fault": None, "do": None}
