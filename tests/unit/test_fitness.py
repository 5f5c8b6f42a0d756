"""When a slot rests: after crashes in a row, after browsers that did not start, and until they come up again."""

from __future__ import annotations

from worker.attempt import Ended
from worker.fitness import FAILED_STARTS, REST_S, Fitness

CRASHED = Ended("crashed", "its browser died", "ready")
UNFIT = Ended("parked", "browsers do not come up here", "later", unfit=True)
NO_BROWSER = Ended("parked", "did not start", "later", no_browser=True)
DONE = Ended("done", "done", "done")


def after(*attempts: Ended) -> Fitness:
    fitness = Fitness()
    for ended in attempts:
        fitness.note(ended)
    return fitness


def test_one_crash_is_its_tasks_and_makes_only_doubtful() -> None:
    fitness = after(CRASHED)
    assert (fitness.owes_rest, fitness.doubtful) == (False, True)


def test_each_further_crash_in_a_row_makes_the_rest_longer() -> None:
    fitness = after(CRASHED)
    rests = []
    for _ in range(8):
        fitness.note(CRASHED)
        assert fitness.owes_rest
        rests.append(fitness.rest_s)
        fitness.rested("")
        assert not fitness.owes_rest
    assert rests == [1, 2, 4, 8, 16, 30, 30, 30]


def test_an_attempt_that_lived_ends_the_row_and_one_that_was_parked_does_not() -> None:
    assert after(CRASHED, DONE, CRASHED).owes_rest is False
    assert after(CRASHED, Ended("parked", "the worker drains", "ready"), CRASHED).owes_rest is True


def test_while_browsers_do_not_come_up_it_rests_on() -> None:
    fitness = after(UNFIT)
    assert (fitness.owes_rest, fitness.rest_s, fitness.crashing) == (True, REST_S, 1)
    fitness.rested("still not")
    assert fitness.owes_rest
    fitness.rested("")
    assert not fitness.owes_rest


def test_it_looks_again_after_its_rest_unless_it_rests_for_crashes_that_were_judged() -> None:
    """A look starts every browser once, and the last crash was judged by one."""
    assert after(UNFIT).unsure
    assert after(*[NO_BROWSER] * FAILED_STARTS).unsure
    assert after(CRASHED, NO_BROWSER, CRASHED, NO_BROWSER).unsure
    assert not after(CRASHED, CRASHED).unsure
    assert not after(NO_BROWSER, CRASHED, CRASHED).unsure


def test_after_browsers_that_did_not_start_it_has_one_try_more() -> None:
    fitness = after(*[NO_BROWSER] * FAILED_STARTS)
    assert fitness.owes_rest
    fitness.rested("")
    assert not fitness.owes_rest
    fitness.note(NO_BROWSER)
    assert fitness.owes_rest
