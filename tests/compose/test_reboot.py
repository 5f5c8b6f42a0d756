"""The machine goes down and comes back: the engine starts again what was not drained on purpose."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.support.compose_pool import ComposePool
from tests.support.waiting import until
from worker import processes

PID_FILE = Path(os.environ.get("KOALA_ENGINE_DIR", "")) / "run" / "docker.pid"

pytestmark = pytest.mark.skipif(
    not os.environ.get("KOALA_STAND_INS"), reason="stops the engine: only one that the tests have started themselves"
)


@pytest.fixture(scope="module")
def pool(shared: ComposePool) -> ComposePool:
    """The one that is left as it was found."""
    return shared


def restart_engine(pool: ComposePool) -> None:
    """End the engine as a shutdown does, and start it as it was."""
    pid = int(PID_FILE.read_text())
    command = Path(f"/proc/{pid}/cmdline").read_bytes().rstrip(b"\0").split(b"\0")
    os.kill(pid, signal.SIGTERM)
    until(lambda: processes.find(pid) is None, "the engine has stopped", 120)
    with (PID_FILE.parent / "again.log").open("ab") as log:
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
    until(lambda: subprocess.run(["docker", "info"], capture_output=True).returncode == 0, "the engine is back", 60)


def test_after_a_reboot_all_tasks_end_once_and_logins_live(pool: ComposePool) -> None:
    """Promises 3, 4 and 10."""
    pool.until_done(pool.submit("shop.login", {"shop": pool.shop.url, "user": "eve"}, profile="eve"))
    logins = pool.shop.logins
    held = pool.errand("test.browse", "boot-held", profile="eve", user="eve", gates=["acted"])
    pool.until_at("boot-held", "acted")
    ids = [pool.order(f"boot-{number}") for number in range(8)]
    pool.open_gate("boot-held", "acted")
    restart_engine(pool)
    pool.compose("start", "shop")
    pool.open_doors()
    pool.until_done(held, *ids, within_s=180)
    assert [pool.orders(f"boot-{number}") for number in range(8)] == [1] * 8
    assert pool.orders("boot-held") == 1
    later = pool.order("boot-later", workflow="shop.order", profile="eve", user="eve")
    pool.until_done(later)
    assert pool.shop.logins == logins
    pool.until_slots(4)
