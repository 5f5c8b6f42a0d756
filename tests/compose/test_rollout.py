"""A new image comes in by batches; one that does not do goes by itself. No task pays for either."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from koala.store import OUTAGE
from tests.support.compose_pool import ROOT, ComposePool

GOOD = "ENV ANOTHER=1"
CANNOT_START = "ENV KOALA_WORKFLOWS=no_such_module"
BROWSER_CRASHES = """USER 0
RUN printf '#!/bin/sh\\nkill -SEGV $$\\n' >/usr/lib/chromium/chromium
USER 10001:10001"""
WORSE = """USER 0
RUN sed -i 's/^async def post(.*/&\\n    raise ValueError("it is worse")/' /opt/koala/app/tests/support/workflows.py
USER 10001:10001"""
WATCH_S = "3"

NEWER = """
from pathlib import Path
from koala.fence import Fence
from worker import locks, volume
from worker.profiles import find
where = volume.open_volume(Path("/var/lib/koala/data"))
profile = find(where, "ann")
record = profile.record()
with locks.take(where, profile.lock, "newer", Fence.parse(record.fence)) as held:
    profile.prepare(held, Path(record.binary), record.major + 1)
(profile.user_data / "Last Version").write_text(f"{record.major + 1}.0.1.2")
(profile.user_data / "Default" / "Cookies").write_bytes(b"a format of tomorrow")
"""


@pytest.fixture(scope="module")
def image(pool: ComposePool) -> Iterator[dict[str, str]]:
    """Images on top of the pool's, by name."""
    made = {}
    for name, lines in {"good": GOOD, "no-start": CANNOT_START, "no-browser": BROWSER_CRASHES, "worse": WORSE}.items():
        made[name] = f"{pool.project}-{name}"
        file = f"FROM koala-test:{pool.tag}\n{lines}\n"
        command = ["docker", "build", "--quiet", "--tag", f"koala-test:{made[name]}", "-"]
        subprocess.run(command, input=file, text=True, check=True, capture_output=True)
    yield made
    subprocess.run(["docker", "rmi", *(f"koala-test:{tag}" for tag in made.values())], check=False, capture_output=True)


@contextmanager
def _least(pool: ComposePool) -> Iterator[list[int]]:
    """The least number of slots that took work meanwhile, in a list of one."""
    least, over = [99], threading.Event()

    def look() -> None:
        while not over.wait(0.2):
            with suppress(*OUTAGE):  # the store has no time for the question
                least[0] = min(least[0], sum(one["accepting"] == "1" and one["trial"] == "0" for one in pool.slots()))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield least
    finally:
        over.set()
        watcher.join()


def _tags(pool: ComposePool, service: str = "worker") -> set[str]:
    return {pool.inspect(one)["Config"]["Image"].partition(":")[2] for one in pool.containers(service)}


def _nothing_was_lost(pool: ComposePool, *ids: str) -> None:
    pool.until_done(*ids, within_s=120)
    for id_ in ids:
        task = pool.task(id_)
        assert (task.attempts, task.crashes) == (0, 0), pool.actions(id_)


def test_an_image_that_cannot_start_is_rolled_back(pool: ComposePool, image: dict[str, str]) -> None:
    ids = [pool.order(f"no-start-{number}") for number in range(20)]
    before = pool.containers()
    with _least(pool) as least:
        done = pool.tool("rollout", "--tag", image["no-start"], check=False, KOALA_WATCH_S=WATCH_S)
    assert done.returncode == 8
    assert "no_such_module" in done.stderr
    assert sorted(pool.containers(stopped=True)) == sorted(before)
    assert least[0] >= 4
    _nothing_was_lost(pool, *ids)


def test_the_way_back_is_found_when_the_image_has_another_name_since(pool: ComposePool, image: dict[str, str]) -> None:
    """What runs is known by its content: it stays as it is, and is what the new name leads back to."""
    pool.docker("tag", f"koala-test:{image['no-start']}", f"{pool.project}:{image['no-start']}")
    before = pool.containers()
    try:
        done = pool.tool("rollout", "--tag", image["no-start"], check=False, KOALA_REPOSITORY=pool.project)
        assert done.returncode == 8, done.stderr
        assert f"koala {pool.tag} runs everywhere again" in done.stderr
        assert pool.containers(stopped=True) == before
        images = [
            pool.docker("image", "inspect", "--format", "{{.Id}}", one) for one in ("koala-test:1", f"{pool.project}:1")
        ]
        assert len(set(images)) == 1
    finally:
        pool.docker("rmi", f"{pool.project}:{image['no-start']}", f"{pool.project}:1")


def test_an_image_whose_browser_crashes_is_rolled_back_and_profiles_stay_usable(
    pool: ComposePool, image: dict[str, str]
) -> None:
    """A profile that a newer Chromium opened meanwhile is put back to the copy from before, with its login."""
    login = pool.submit("shop.login", {"shop": pool.shop.url, "user": "ann"}, profile="ann")
    pool.until_done(login)
    pool.inside(pool.containers()[0], "python", "-c", NEWER)
    with _least(pool) as least:
        done = pool.tool("rollout", "--tag", image["no-browser"], check=False, KOALA_WATCH_S=WATCH_S)
    assert done.returncode == 8
    assert _tags(pool) == {pool.tag}
    assert least[0] >= 4
    order = pool.order("rolled-back", workflow="shop.order", profile="ann")
    _nothing_was_lost(pool, order)
    assert str(pool.events(order, "profile_opened")[0].data).count("major-") == 1


def test_an_image_on_which_more_attempts_fail_is_rolled_back_and_without_room_the_old_leave_first(
    pool: ComposePool, image: dict[str, str]
) -> None:
    log, most = pool.home / "worse.log", 0
    command = [sys.executable, "-m", "deploy", "rollout", "--tag", image["worse"]]
    environment = {**pool.environment, "KOALA_SURGE": "0", "KOALA_WATCH_S": "30"}
    with log.open("w") as out:
        rolling = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=out, stderr=subprocess.STDOUT)
    pool.until(lambda: "watches koala" in log.read_text(), "the first batch is there", 120)
    ids = [pool.errand("test.order", f"worse-{number}") for number in range(20)]
    while rolling.poll() is None:
        most = max(most, len(pool.containers()))
    said = log.read_text()
    assert rolling.returncode == 8, said
    assert re.search(r"rolled back: \d+ of \d+ attempts failed with the new image, 0 of \d+ with the old one", said)
    assert most == 2, "there was no room for a third"
    assert _tags(pool) == {pool.tag}
    pool.until(lambda: all(pool.task(id_).status in ("done", "failed") for id_ in ids), "all have ended")
    assert max(pool.orders(f"worse-{number}") for number in range(20)) == 1
    _nothing_was_lost(pool, pool.order("worse-after"))


def test_a_good_image_comes_in_though_the_tool_is_killed_in_the_middle(
    pool: ComposePool, image: dict[str, str]
) -> None:
    """Capacity is never under half, no task loses an attempt, and the same command goes on where it was."""
    ids = [pool.order(f"good-{number}") for number in range(30)]
    held = [pool.errand("test.order", f"good-held-{number}", gates=["acted"], act_s=100) for number in range(2)]
    for number in range(2):
        pool.until_at(f"good-held-{number}", "acted")
    command = ["-m", "deploy", "rollout", "--tag", image["good"]]
    with _least(pool) as least:
        first = subprocess.Popen(
            [sys.executable, *command], cwd=ROOT, env={**pool.environment, "KOALA_WATCH_S": WATCH_S}
        )
        pool.until(lambda: len(pool.containers()) == 3, "the first new one runs")
        first.send_signal(signal.SIGKILL)
        first.wait()
        for number in range(2):
            pool.open_gate(f"good-held-{number}", "acted")
        plan = pool.tool("rollout", "--tag", image["good"], "--dry-run").stdout
        done = pool.tool("rollout", "--tag", image["good"], KOALA_WATCH_S=WATCH_S, KOALA_BATCH="2")
    assert "drain and remove" in plan
    assert done.returncode == 0
    assert _tags(pool) == _tags(pool, "scheduler") == {image["good"]}
    assert (len(pool.containers()), len(pool.containers("scheduler"))) == (2, 2)
    assert least[0] >= 2
    _nothing_was_lost(pool, *ids, *held)
    assert [pool.orders(f"good-{number}") for number in range(30)] == [1] * 30
    assert {slot["image"] for slot in pool.slots()} == {image["good"]}
    assert pool.tool("rollout", "--tag", image["good"]).stdout.endswith("nothing to do\n")


def test_back_returns_to_the_image_before(pool: ComposePool) -> None:
    pool.tool("rollout", "--back", KOALA_BATCH="2")
    assert _tags(pool) == _tags(pool, "scheduler") == {pool.tag}
    _nothing_was_lost(pool, pool.order("after-all"))


def test_a_pool_whose_new_image_never_came_up_is_brought_back_by_one_that_does(
    pool: ComposePool, image: dict[str, str]
) -> None:
    """Started from nothing there is no roll-out that could go back by itself: it is said what can be done."""
    pool.compose("rm", "--stop", "--force", "worker", "scheduler")
    bad = pool.tool("up", check=False, KOALA_TAG=image["no-start"])
    assert bad.returncode == 1
    assert "no_such_module" in bad.stderr
    assert f"mend it, then `make up` again, or `make deploy BACK=1` for koala {pool.tag}\n" in bad.stderr
    failing = pool.containers()
    pool.until(lambda: all(pool.inspect(one)["RestartCount"] >= 2 for one in failing), "they do not stay up")
    said = pool.tool("status").stdout
    assert f"no worker of koala {image['no-start']} stays up" in said
    assert said.count("worker does not stay up") == 2

    done = pool.tool("up")
    assert f"no worker of koala {image['no-start']} stays up: starts koala {pool.tag} in its place" in done.stderr
    assert _tags(pool) == _tags(pool, "scheduler") == {pool.tag}
    pool.until_slots(4)
    _nothing_was_lost(pool, pool.order("brought-back"))
    assert "stay up" not in pool.tool("status").stdout, "what is gone fails no more"
