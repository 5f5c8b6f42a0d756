"""When a fault of the demo strikes, whom, and when it is over."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from demo import fault as fault_
from demo.fault import Fault, Scene, names
from demo.plan import Work
from demo.sight import Running, Sight
from demo.story import Moment
from koala.timeline import Event

ANN = Running(Work("ann-1", "shop.order", {}, "ann", "ann-1"), "t1", "1.1", 0, "w-0", 10, "worker 1", Moment.ORDERED, 1)
BOB = replace(ANN, work=Work("bob-1", "shop.order", {}, "bob", "bob-1"), task_id="t2", fence="1.2", slot="w-1")
NEWS = replace(ANN, work=Work("news 1", "shop.news", {}), task_id="t3", fence="1.3")


class Blow(Fault):
    """Hits the first candidate."""

    def strike(self, sight: Sight) -> str:
        self.hits = self.candidates(sight)[:1]
        return f"hit {names(self.hits)}" if self.hits else ""

    def spoiled(self, sight: Sight) -> bool:
        return any(event.action == "spoiled" for event in sight.events["ann-1"])


@pytest.fixture
def scene() -> Scene:
    """A scene without a pool: the blows of these tests hit nobody."""
    lines: list[str] = []
    made: Any = Scene(pool=None, store=None, say=lines.append)  # type: ignore[arg-type]
    made.lines = lines
    return made  # type: ignore[no-any-return]


def blow(scene: Scene, *wants: Moment, **more: Any) -> Blow:
    return Blow(scene, "blow", wants=wants or (Moment.ORDERED,), **more)


def sight(*running: Running, events: dict[str, list[Event]] | None = None, **more: Any) -> Sight:
    return Sight({}, events or {"ann-1": [], "bob-1": []}, running, **more)


def went_on() -> list[Event]:
    later = 4_000_000_000_000
    return [
        Event("1-0", later, "attempt_started", {"fence": "1.9", "slot": "w-0"}),
        Event("2-0", later + 5, "step_started", {"fence": "1.9"}),
    ]


def test_a_fault_strikes_an_order_in_the_moment_it_is_meant_for(scene: Scene) -> None:
    made = blow(scene, Moment.ORDERING)
    assert not made.tick(sight(ANN, NEWS))
    assert made.tick(sight(ANN, replace(BOB, moment=Moment.ORDERING)))
    assert names(made.hits) == "bob-1"


def test_the_dearest_moment_comes_first(scene: Scene) -> None:
    made = blow(scene, Moment.ORDERED, Moment.ORDERING)
    made.tick(sight(replace(ANN, moment=Moment.ORDERING), BOB))
    assert names(made.hits) == "bob-1"


def test_work_without_an_order_is_no_victim(scene: Scene) -> None:
    assert not blow(scene).tick(sight(NEWS))


def test_after_a_wait_any_attempt_in_work_will_do(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    made = blow(scene, Moment.ORDERING)
    assert not made.tick(sight(ANN))
    monkeypatch.setattr(fault_, "PATIENCE_S", -1.0)
    assert made.tick(sight(ANN))


def test_a_task_that_was_hit_is_spared_by_the_next_fault(scene: Scene) -> None:
    blow(scene).tick(sight(ANN))
    second = blow(scene)
    assert not second.tick(sight(ANN))
    assert second.tick(sight(ANN, BOB))
    assert names(second.hits) == "bob-1"


def test_a_task_that_has_crashed_twice_is_never_hit_again(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault_, "PATIENCE_S", -1.0)
    assert not blow(scene).tick(sight(replace(ANN, crashes=2)))


def test_a_fault_waits_until_those_before_it_are_over(scene: Scene) -> None:
    first = blow(scene)
    second = blow(scene, after=[first])
    first.tick(sight(ANN))
    assert not second.tick(sight(BOB))
    first.tick(sight(events={"ann-1": went_on(), "bob-1": []}))
    assert first.over
    assert second.tick(sight(BOB))


def test_nobody_is_hit_while_the_store_is_away(scene: Scene) -> None:
    assert not blow(scene).tick(sight(ANN, away=True))


def test_a_fault_is_over_when_work_has_gone_on_and_knows_after_how_long(scene: Scene) -> None:
    made = blow(scene)
    made.tick(sight(ANN))
    made.tick(sight(ANN))
    assert (made.struck, made.over) == (True, False)
    made.struck_ms = 4_000_000_000_000 - 1500
    made.tick(sight(events={"ann-1": went_on(), "bob-1": []}))
    assert (made.over, made.seconds) == (True, 1.5)


def test_a_blow_that_came_too_late_is_dealt_again(scene: Scene) -> None:
    made = blow(scene)
    made.tick(sight(ANN))
    made.tick(sight(events={"ann-1": [Event("1-0", 1, "spoiled", {})]}))
    assert not made.struck
    assert made.tick(sight(BOB))


def test_victims_are_listed_as_a_person_would() -> None:
    assert names([ANN]) == "ann-1"
    assert names([ANN, BOB, NEWS]) == "ann-1, bob-1 and news 1"
    assert names([ANN], moments=True) == "ann-1 (order sent, no answer yet)"
    assert names([]) == "nobody"
