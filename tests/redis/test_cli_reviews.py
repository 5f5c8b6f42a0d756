"""`koala review`: the questions, and PROTOCOL's five answers."""

from __future__ import annotations

import json

import pytest

from koala import reviews
from koala.store import Store
from tests.support.cli import Cli
from tests.support.pool import OPERATION, Pool, unchanged
from tests.support.redis_server import RedisServer


@pytest.fixture
def koala(redis_server: RedisServer, store: Store) -> Cli:
    return Cli(redis_server.socket_url)


def unknown(pool: Pool, **more: object) -> reviews.Question:
    """A question after the act."""
    return pool.ask(pool.sent(pool.running()), **more)


def approval(pool: Pool) -> reviews.Question:
    """A question before the act."""
    attempt = pool.running()
    attempt.look(OPERATION, json.dumps({"price": 19}))
    return pool.ask(attempt, kind="approval", **{"try": 0})


def test_the_open_ones_are_listed_oldest_first(koala: Cli, pool: Pool) -> None:
    asked = [pool.ask(pool.sent(pool.running(), f"shop/order/{n}"), operation=f"shop/order/{n}") for n in range(3)]
    assert [row["id"] for row in koala.ok("review", "list", "--json").data] == [item.id for item in asked]
    shown = koala.ok("review", "list").out
    assert shown.index("shop/order/0") < shown.index("shop/order/2")


def test_none_is_told_on_standard_error_only(koala: Cli) -> None:
    assert koala.ok("review", "list").err == "no open reviews\n"
    assert koala.ok("review", "list", "--json").data == []


def test_one_is_shown_with_the_answers_it_takes(koala: Cli, pool: Pool) -> None:
    question = unknown(pool)
    found = koala.ok("review", "show", question.id, "--json").data
    assert (found["id"], found["try"], found["description"]) == (question.id, 1, {"price": 19})
    assert found["allowed"] == ["happened", "did_not_happen", "look_again"]
    shown = koala.ok("review", "show", question.id).out
    assert f"koala review answer {question.id}" in shown
    assert "approve" not in shown


def test_one_that_is_not_quiet_says_what_is_missing(koala: Cli, pool: Pool) -> None:
    shown = koala.ok("review", "show", unknown(pool, quiet=False).id).out
    assert "not proved gone" in shown
    assert "did_not_happen" not in shown


@pytest.mark.parametrize("typed", ["did_not_happen", "did-not-happen", "did not happen", "Did Not Happen"])
def test_an_answer_can_be_typed_as_it_is_spoken(koala: Cli, pool: Pool, typed: str) -> None:
    question = unknown(pool)
    said = koala.ok("review", "answer", question.id, typed, "--as", "ann", "--note", "not in the list")
    assert "answered did_not_happen by ann" in said.err
    closed = reviews.get(pool.store, question.id)
    assert (closed.state, closed.answer, closed.by, closed.note) == (
        "answered", "did_not_happen", "ann", "not in the list",
    )  # fmt: skip
    assert pool.effect().state == "absent"


def test_happened_can_carry_a_receipt(koala: Cli, pool: Pool) -> None:
    question = unknown(pool)
    said = koala.ok("review", "answer", question.id, "happened", "--receipt", '{"order": 7}', "--json")
    assert said.data["status"] == "ready"
    assert pool.effect().receipt == {"order": 7}


def test_look_again_settles_nothing(koala: Cli, pool: Pool) -> None:
    koala.ok("review", "answer", unknown(pool).id, "look_again")
    assert pool.effect().state == "sent"


def test_approve_and_reject_go_to_a_question_before_the_act(koala: Cli, pool: Pool) -> None:
    koala.ok("review", "answer", approval(pool).id, "approve")


def test_reject_ends_the_task(koala: Cli, pool: Pool) -> None:
    question = approval(pool)
    assert koala.ok("review", "answer", question.id, "reject", "--json").data["status"] == "cancelled"
    assert pool.task(question.task).status == "cancelled"


def test_the_answer_is_kept_with_the_name_of_the_user(koala: Cli, pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "margit")
    question = unknown(pool)
    koala.ok("review", "answer", question.id, "happened")
    assert reviews.get(pool.store, question.id).by == "margit"


def test_a_second_answer_is_refused_with_the_first(koala: Cli, pool: Pool) -> None:
    question = unknown(pool)
    koala.ok("review", "answer", question.id, "happened", "--as", "ann")
    with unchanged(pool.store):
        line = koala.fails(4, "refused", "review", "answer", question.id, "did_not_happen", "--as", "bob")
    assert "answered happened by ann" in line


def test_an_answer_of_the_wrong_kind_or_too_early_is_refused(koala: Cli, pool: Pool) -> None:
    early = unknown(pool, quiet=False)
    with unchanged(pool.store):
        line = koala.fails(4, "refused", "review", "answer", early.id, "did_not_happen")
        koala.fails(4, "refused", "review", "answer", early.id, "approve")
    assert "look again" in line


def test_what_is_no_answer_no_receipt_or_no_review_is_refused(koala: Cli, pool: Pool) -> None:
    question = unknown(pool)
    with unchanged(pool.store):
        koala.fails(2, "invalid_arguments", "review", "answer", question.id, "retry")
        koala.fails(2, "invalid_arguments", "review", "answer", question.id, "happened", "--receipt", "{")
        koala.fails(2, "invalid_arguments", "review", "answer", question.id, "look_again", "--receipt", "1")
        koala.fails(3, "not_found", "review", "answer", "1-99", "happened")
        koala.fails(3, "not_found", "review", "show", "1-99")
        koala.fails(3, "not_found", "review", "show", "last")
        koala.fails(2, "usage", "review", "answer", question.id)
