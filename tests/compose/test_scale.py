"""More workers, fewer, none, and all of them drained: nothing is cut, and what is asked for is what runs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

from koala.store import OUTAGE
from tests.support.compose_pool import ROOT, ComposePool


def _meanwhile(pool: ComposePool, *arguments: str) -> Future[subprocess.CompletedProcess[str]]:
    """The tool at work while the test goes on."""
    return ThreadPoolExecutor(1).submit(pool.tool, *arguments)


@contextmanager
def _exits(pool: ComposePool) -> Iterator[list[str]]:
    """The exit codes of the workers that end meanwhile, as the engine tells them; there when it is left.

    It is listened to, since it soon forgets.
    """
    filters = ["--filter", "event=die", "--filter", f"label=com.docker.compose.project={pool.project}"]
    command = ["docker", "events", "--format", "{{json .Actor.Attributes}}", "--since", _now(pool), *filters]
    codes: list[str] = []
    with subprocess.Popen(command, env=pool.environment, stdout=subprocess.PIPE, text=True) as events:
        try:
            yield codes
        finally:
            events.terminate()
            told = [json.loads(line) for line in events.communicate()[0].splitlines()]
            codes += [one["exitCode"] for one in told if one["com.docker.compose.service"] == "worker"]


def _now(pool: ComposePool) -> str:
    return pool.docker("info", "--format", "{{.SystemTime}}")


def _draining(pool: ComposePool) -> list[bool]:
    """Whether each slot drains; empty while the store has no time for the question."""
    try:
        return [slot["draining"] == "1" for slot in pool.slots()]
    except OUTAGE:
        return []


def _nothing_was_cut(pool: ComposePool, *ids: str) -> None:
    for id_ in ids:
        task = pool.task(id_)
        assert (task.status, task.attempts, task.crashes) == ("done", 0, 0), pool.actions(id_)


def test_scaled_to_four_and_back_to_one_under_load(pool: ComposePool) -> None:
    """Promise 8. The workers that are chosen leave when their orders are done, not before."""
    with _exits(pool) as exits:
        ids = [pool.order(f"up-{number}") for number in range(20)]
        pool.tool("scale", "4")
        assert len(pool.containers()) == 4
        pool.until_slots(8)
        held = [pool.errand("test.order", f"held-{number}", gates=["acted"], act_s=100) for number in range(8)]
        for number in range(8):
            pool.until_at(f"held-{number}", "acted")
        ids += [pool.order(f"down-{number}") for number in range(20)]
        scaling = _meanwhile(pool, "scale", "1")
        pool.until(lambda: sum(_draining(pool)) == 6, "three workers drain")
        assert len(pool.containers()) == 4
        assert not scaling.done()
        for number in range(8):
            pool.open_gate(f"held-{number}", "acted")
        scaling.result()
    assert len(pool.containers(stopped=True)) == 1
    pool.until_done(*ids, *held, within_s=120)
    _nothing_was_cut(pool, *ids, *held)
    assert [pool.orders(f"held-{number}") for number in range(8)] == [1] * 8
    assert exits == ["0"] * 3


def test_the_idle_ones_leave_first(pool: ComposePool) -> None:
    pool.tool("scale", "2")
    held = pool.errand("test.order", "idle-first", gates=["acted"], act_s=100)
    pool.until_at("idle-first", "acted")
    busy = pool.worker_of(held)
    pool.tool("scale", "1")
    assert pool.containers() == [busy]
    pool.open_gate("idle-first", "acted")
    pool.until_done(held)


def test_none_at_all_and_back(pool: ComposePool) -> None:
    pool.tool("scale", "0")
    assert pool.containers(stopped=True) == []
    id_ = pool.order("nobody-there")
    pool.tool("scale", "2")
    pool.until_done(id_)
    pool.until_slots(4)


def test_a_drain_under_load_lets_all_end_and_a_resume_brings_them_back(pool: ComposePool) -> None:
    """Promise 8. What could not start waits, and says that everything drains."""
    with _exits(pool) as exits:
        held = [pool.errand("test.order", f"drained-{number}", gates=["acted"], act_s=100) for number in range(4)]
        for number in range(4):
            pool.until_at(f"drained-{number}", "acted")
        waiting = [pool.order(f"later-{number}") for number in range(5)]
        draining = _meanwhile(pool, "drain")
        pool.until(lambda: (found := _draining(pool)) and all(found), "all drain")
        assert not draining.done()
        for number in range(4):
            pool.open_gate(f"drained-{number}", "acted")
        said = draining.result().stderr
    assert "waits for" in said
    assert "which runs" in said
    assert exits == ["0", "0"]
    assert {pool.task(id_).status for id_ in waiting} <= {"ready", "handed"}
    pool.tool("resume")
    pool.until_done(*held, *waiting)
    _nothing_was_cut(pool, *held, *waiting)
    assert [pool.orders(f"drained-{number}") for number in range(4)] == [1] * 4


def test_one_worker_is_drained_by_its_name(pool: ComposePool) -> None:
    pool.until_slots(4)
    worker = pool.slots()[0]["worker"]
    pool.tool("drain", worker)
    assert len(pool.containers()) == 1
    pool.tool("resume")
    pool.until_slots(4)


def test_two_commands_at_once_are_refused(pool: ComposePool) -> None:
    held = pool.errand("test.order", "locked", gates=["acted"], act_s=100)
    pool.until_at("locked", "acted")
    first = subprocess.Popen(
        [sys.executable, "-m", "deploy", "drain"], cwd=ROOT, env=pool.environment, stderr=subprocess.PIPE, text=True
    )
    assert first.stderr
    assert "waits for" in first.stderr.readline()
    second = pool.tool("scale", "5", check=False)
    assert second.returncode == 4
    assert str(first.pid) in second.stderr
    pool.open_gate("locked", "acted")
    assert first.wait(60) == 0
    first.stderr.close()
    pool.tool("resume")
    pool.until_done(held)


def test_what_plain_compose_would_start_is_what_runs(pool: ComposePool) -> None:
    """The tool leaves in `.env` what it decided: `docker compose up` changes nothing afterwards."""
    before = pool.containers()
    plain = {name: value for name, value in pool.environment.items() if name not in ("KOALA_TAG", "KOALA_SECRETS_DIR")}
    done = subprocess.run(["docker", "compose", "up", "--detach", "--no-build"], cwd=ROOT, env=plain, check=False)
    assert done.returncode == 0
    assert pool.containers() == before


def test_a_password_that_the_store_does_not_take_is_told_and_one_that_it_may_take_is_given_to_it(
    pool: ComposePool,
) -> None:
    """A Redis that runs has read its access list; who is not in it cannot have it read another one."""
    password = pool.home / "secrets" / "operator" / "redis_password"
    kept = password.read_text()
    password.write_text("put-here-by-hand-and-unknown-to-the-store")
    for _ in range(2):
        refused = pool.tool("up", check=False)
        assert refused.returncode == 1, refused.stderr
        assert "the store that runs takes other passwords" in refused.stderr
        assert "`docker compose restart redis`" in refused.stderr
    password.write_text(kept)
    assert "Redis has read its access list" in pool.tool("up").stderr


def test_down_drains_first_and_keeps_the_data(pool: ComposePool) -> None:
    with _exits(pool) as exits:
        held = pool.errand("test.order", "down", gates=["acted"], act_s=100)
        pool.until_at("down", "acted")
        going = _meanwhile(pool, "down")
        pool.until(lambda: (found := _draining(pool)) and all(found), "all drain")
        pool.open_gate("down", "acted")
        going.result()
    assert exits == ["0", "0"]
    assert pool.docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={pool.project}") == ""
    pool.up()
    pool.until_done(held)
    assert pool.orders("down") == 1
