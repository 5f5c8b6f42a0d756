"""Attempts with a real Chromium, and parts of it killed or frozen: one order each time, and the login stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import psutil
import pytest

from koala import slots
from tests.support.live_pool import LivePool
from tests.support.program import kill

ACT_S = 30.0


@pytest.fixture(scope="module")
def pool() -> Iterator[LivePool]:
    """One pool with two slots for all tests here: each uses a profile of its own."""
    with LivePool() as opened:
        opened.start()
        yield opened


def _below(pool: LivePool, id_: str, wanted: Callable[[str], bool]) -> list[int]:
    """The pids of those below the task's slot whose command line is wanted."""
    found = []
    for process in psutil.Process(pool.parent_of(id_)).children(recursive=True):
        try:
            if wanted(" ".join(process.cmdline())):
                found.append(process.pid)
        except psutil.NoSuchProcess:
            continue
    return found


def _renderers(pool: LivePool, id_: str) -> list[int]:
    return _below(pool, id_, lambda line: "--type=renderer" in line)


def _browser(pool: LivePool, id_: str) -> list[int]:
    return _below(pool, id_, lambda line: "--user-data-dir" in line and "--type=" not in line)


def _driver(pool: LivePool, id_: str) -> list[int]:
    return _below(pool, id_, lambda line: "run-driver" in line)


def _child(pool: LivePool, id_: str) -> list[int]:
    return _below(pool, id_, lambda line: "worker.host" in line)


PARTS = {"driver": _driver, "browser": _browser, "child": _child}


def _browse(pool: LivePool, reference: str, **more: object) -> str:
    given = {"profile": reference, "user": reference, "act_s": ACT_S, **more}
    return pool.errand("test.browse", reference, **given)


def _until_in_work(pool: LivePool, id_: str, reference: str, gate: str) -> None:
    pool.until_at(reference, gate)
    pool.until(lambda: any(slot["task"] == id_ for slot in _slots(pool)), "its slot's heartbeat")


def _slots(pool: LivePool) -> list[dict[str, str]]:
    return slots.alive(pool.store)


def test_a_dead_tab_costs_the_step_and_not_the_attempt(pool: LivePool) -> None:
    """Promise 9: the step is tried again on a new tab, in the same attempt."""
    id_ = _browse(pool, "tab", gates=["step"])
    _until_in_work(pool, id_, "tab", "step")
    for pid in _renderers(pool, id_):
        kill(pid)
    pool.open_gate("tab", "step")
    pool.until_done(id_)
    assert len(pool.events(id_, "attempt_started")) == 1
    assert len(pool.events(id_, "tab_died")) == 1
    assert pool.orders("tab") == 1


@pytest.mark.parametrize("part", PARTS)
def test_a_dead_part_costs_one_attempt_and_the_login_stays(pool: LivePool, part: str) -> None:
    """Promises 9 and 10: browser, driver or child killed in a step; the next attempt resumes, still logged in."""
    reference = f"step-{part}"
    id_ = _browse(pool, reference, gates=["act"])
    _until_in_work(pool, id_, reference, "act")  # the login went through the barrier before the act
    before = pool.shop.logins
    for pid in PARTS[part](pool, id_):
        kill(pid)
    pool.until_event(id_, "attempt_ended", outcome="crashed")
    pool.open_gate(reference, "act")
    pool.until_done(id_)
    assert pool.task(id_).crashes == 1
    assert pool.shop.logins == before, pool.story(id_)
    assert pool.result(id_)["stored"] == "ann"
    assert pool.orders(reference) == 1


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_dies_right_after_the_click_orders_once(pool: LivePool, part: str) -> None:
    """Promise 3, V1 to V3: the order is at the shop, its receipt is lost; the next attempt finds it."""
    reference = f"acted-{part}"
    id_ = _browse(pool, reference, gates=["acted"])
    _until_in_work(pool, id_, reference, "acted")
    for pid in PARTS[part](pool, id_):
        kill(pid)
    pool.until_event(id_, "attempt_ended", outcome="crashed")
    pool.open_gate(reference, "acted")
    pool.until_done(id_)
    assert pool.orders(reference) == 1
    assert len(pool.events(id_, "effect_sent")) == 1
    assert pool.events(id_, "effect_happened")[0].data["how"] == "confirm"


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_dies_while_the_shop_stores_orders_once(pool: LivePool, part: str) -> None:
    """Promise 3: the request is on its way when its sender dies, and the shop stores it later."""
    reference = f"slow-{part}"
    pool.shop.set_manners(slow_store_ms={"ms": 1500, "times": 1, "reference": reference})
    id_ = _browse(pool, reference, settle_s=4)
    pool.until_arrived(reference)
    pool.until(lambda: any(slot["task"] == id_ for slot in _slots(pool)), "its slot's heartbeat")
    for pid in PARTS[part](pool, id_):
        kill(pid)
    pool.until_done(id_)
    assert pool.orders(reference) == 1


@pytest.mark.parametrize("bare", [False, True], ids=["after a first byte", "before the first byte"])
def test_a_connection_cut_after_the_order_orders_once(pool: LivePool, bare: bool) -> None:
    """Promise 3: Chromium repeats a form whose connection is cut before the first byte; an act does not."""
    reference = f"cut-{bare}"
    pool.shop.set_manners(cut_after_order={"times": 1, "reference": reference, "bare": bare})
    id_ = _browse(pool, reference, patience_s=5)
    pool.until_done(id_)
    assert pool.orders(reference) == 1


def test_an_agent_cannot_order_outside_an_effect_where_it_is_guarded(pool: LivePool) -> None:
    """run.guard: the click meets a page that says so, and the timeline has it."""
    id_ = pool.errand("test.guarded", "guarded")
    pool.until_done(id_)
    assert "outside run.effect" in pool.result(id_)
    assert pool.events(id_, "guard_blocked")[0].data["method"] == "POST"


def test_a_worker_frozen_in_the_click_holds_its_profile_until_it_is_thawed(pool: LivePool) -> None:
    """Promises 1 to 3: nobody is confirmed absent while the old browser lives, and the thawed one does nothing more."""
    reference = "frozen"
    pool.shop.set_manners(slow_store_ms={"ms": 1000, "times": 1, "reference": reference})
    pool.shop.set_manners(slow_answer_ms={"ms": 60000, "times": 1, "reference": reference})
    pool.worker(2)
    pool.until_slots(4)
    id_ = _browse(pool, reference, settle_s=1, act_s=60)
    pool.until_arrived(reference)
    pool.until(lambda: any(slot["task"] == id_ for slot in _slots(pool)), "its slot's heartbeat")
    victim = next(one for one in pool.programs() if pool.parent_of(id_) in [p.pid for p in one.tree()])
    first = pool.events(id_, "attempt_started")[0].data["fence"]
    frozen = victim.freeze()
    try:
        pool.until(lambda: "old holder alive" in pool.task(id_).reason, "the task waits for the old holder")
        assert not pool.events(id_, "effect_absent"), pool.story(id_)
    finally:
        pool.thaw(frozen)
    pool.until_done(id_)
    assert pool.orders(reference) == 1
    rescued = next(event.id for event in pool.events(id_, "attempt_lost"))
    late = [event for event in pool.events(id_) if event.id > rescued and event.data.get("fence") == first]
    assert {event.action for event in late} <= {"attempt_gone"}, pool.story(id_)


def test_a_workflow_that_exits_fails_and_its_slot_goes_on(pool: LivePool) -> None:
    """Promise 9: what ends programs ends an attempt; the slot's next browser works."""
    for number in range(2):
        id_ = pool.errand("test.leaves", f"leaves-{number}")
        assert "SystemExit" in pool.until_status(id_, "failed").error
    pool.until_done(*[_browse(pool, f"after-{number}") for number in range(3)])


def test_a_browser_that_does_not_start_costs_a_task_nothing(pool: LivePool) -> None:
    """The task waits and says why; with a worker that has a browser it is done."""
    broken = pool.home / "broken"
    broken.write_text("#!/bin/sh\nexit 1\n")
    broken.chmod(0o755)
    with LivePool(KOALA_HEADLESS_SHELL=str(broken)) as other:
        other.start(1)
        id_ = other.errand("test.browse", "none")
        other.until_event(id_, "attempt_ended", times=2)
        task = other.task(id_)
        assert (task.status, task.attempts, task.crashes) == ("later", 0, 0), other.story(id_)
        assert "did not start" in task.reason
        other.until(lambda: "no_browser" in other.output(), "the slot rests")
        other.worker(1, KOALA_HEADLESS_SHELL="")
        other.until_done(id_)
