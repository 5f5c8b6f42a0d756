"""Reviews: five answers, each applied once, to the try it was asked about."""

from __future__ import annotations

import json
from typing import Any

import pytest

from koala import keys, leases, ledger, reviews, tasks
from koala.errors import NotFound, Refused
from koala.reviews import Answer, Question
from tests.support.pool import OPERATION, PRICE, Pool, unchanged


def asked(pool: Pool, *, quiet: bool = True, profile: str = "") -> Question:
    """The question of a takeover that could not tell."""
    return pool.ask(pool.takeover(profile), quiet=quiet)


def approval(pool: Pool) -> Question:
    """The question before an act."""
    attempt = pool.running()
    attempt.look(OPERATION, PRICE)
    return pool.ask(attempt, kind="approval", **{"try": 0})


def say(pool: Pool, question: Question, answer: Answer, **more: Any) -> str:
    return reviews.answer(pool.store, question.id, answer, "eva", **more)


class TestAsking:
    def test_the_task_waits_where_a_person_sees_it(self, pool: Pool) -> None:
        """Promise 4."""
        question = asked(pool)
        task = pool.task(question.task)
        assert (task.status, task.question, task.reason) == ("review", question.id, "cannot tell")
        assert pool.where(task) == ["review"]
        assert [open_.id for open_ in reviews.open_questions(pool.store)] == [question.id]
        assert (question.description, question.operation, question.try_) == ({"price": 19}, OPERATION, 1)
        assert leases.held(pool.store) == {}

    def test_its_id_holds_the_epoch(self, pool: Pool) -> None:
        """V8: ids of two lives of the store are not mixed up."""
        assert asked(pool).id == f"{pool.store.client.get(keys.EPOCH)!s}-1"

    def test_only_the_answers_that_fit_are_offered(self, pool: Pool) -> None:
        assert approval(pool).allowed == [Answer.APPROVE, Answer.REJECT, Answer.LOOK_AGAIN]
        pool.store.client.flushall()
        pool.store.run("open_store", [keys.SCHEMA, keys.EPOCH], 1)
        assert asked(pool).allowed == [Answer.HAPPENED, Answer.DID_NOT_HAPPEN, Answer.LOOK_AGAIN]

    def test_an_unquiet_one_cannot_be_told_that_it_did_not_happen(self, pool: Pool) -> None:
        question = asked(pool, quiet=False)
        assert question.allowed == [Answer.HAPPENED, Answer.LOOK_AGAIN]

    def test_a_question_that_is_not_there_is_said_to_be_missing(self, pool: Pool) -> None:
        asked(pool)
        for id_ in ("nothing", "last"):
            with pytest.raises(NotFound):
                reviews.get(pool.store, id_)


class TestAnswers:
    def test_happened_settles_it_with_who_said_so(self, pool: Pool) -> None:
        question = asked(pool)
        assert say(pool, question, Answer.HAPPENED, note="saw it") == "ready"
        entry = pool.effect()
        assert (entry.state, entry.how, entry.receipt) == (
            "happened",
            "person",
            {"confirmed_by": "eva", "note": "saw it"},
        )
        closed = reviews.get(pool.store, question.id)
        assert (closed.state, closed.answer, closed.by, closed.note) == ("answered", "happened", "eva", "saw it")
        assert closed.allowed == []
        assert ledger.open_of_task(pool.store, question.task) == {}

    def test_happened_takes_the_receipt_that_the_person_gives(self, pool: Pool) -> None:
        say(pool, asked(pool), Answer.HAPPENED, receipt={"order": 5})
        assert pool.effect().receipt == {"order": 5}

    def test_did_not_happen_allows_the_next_try(self, pool: Pool) -> None:
        question = asked(pool)
        assert say(pool, question, Answer.DID_NOT_HAPPEN) == "ready"
        assert pool.effect().state == "absent"
        attempt = pool.start(pool.task(question.task))
        attempt.look(OPERATION, PRICE)
        assert pool.gate(attempt, token="second") == {"ok": True, "try": 2}

    def test_look_again_only_lets_it_run(self, pool: Pool) -> None:
        question = asked(pool)
        assert say(pool, question, Answer.LOOK_AGAIN) == "ready"
        assert pool.effect().state == "sent"

    def test_approve_and_reject_decide_before_the_act(self, pool: Pool) -> None:
        assert say(pool, approval(pool), Answer.APPROVE) == "ready"
        pool.store.client.flushall()
        pool.store.run("open_store", [keys.SCHEMA, keys.EPOCH], 1)
        question = approval(pool)
        assert say(pool, question, Answer.REJECT) == "cancelled"
        assert pool.task(question.task).reason == "rejected by eva"

    def test_an_answer_ends_a_task_that_was_only_waiting_for_it(self, pool: Pool) -> None:
        question = asked(pool)
        tasks.cancel(pool.store, question.task, "adam")
        assert pool.status(pool.task(question.task)) == "review", "its open effect keeps it"
        assert say(pool, question, Answer.HAPPENED) == "cancelled"


class TestRefusals:
    def test_did_not_happen_is_refused_for_a_question_opened_before_proof_and_settle(self, pool: Pool) -> None:
        """V9: the person looked too early, the order appears, and a second one follows."""
        question = asked(pool, quiet=False)
        with unchanged(pool.store), pytest.raises(Refused, match="not proved gone"):
            say(pool, question, Answer.DID_NOT_HAPPEN)
        assert pool.effect().state == "sent"

    def test_the_proof_opens_a_new_question_and_the_old_ones_answer_is_refused(self, pool: Pool) -> None:
        """V10: what a person saw before the proof says nothing about after it."""
        old = asked(pool, quiet=False)
        say(pool, old, Answer.LOOK_AGAIN)
        new = pool.ask(pool.start(pool.task(old.task)), quiet=True)
        assert new.id != old.id
        with unchanged(pool.store), pytest.raises(Refused, match="not open any more"):
            say(pool, old, Answer.DID_NOT_HAPPEN)
        assert say(pool, new, Answer.DID_NOT_HAPPEN) == "ready"

    def test_a_newer_question_of_the_task_closes_the_older(self, pool: Pool) -> None:
        """V10, were a question ever left open: one that is superseded takes no answer."""
        old = asked(pool, quiet=False)
        pool.put(pool.task(old.task), status="ready")
        pool.store.client.zrem(keys.index("review"), old.task)
        new = pool.ask(pool.start(pool.task(old.task)), quiet=True)
        assert reviews.get(pool.store, old.id).state == "superseded"
        assert [question.id for question in reviews.open_questions(pool.store)] == [new.id]
        with unchanged(pool.store), pytest.raises(Refused, match="not open any more"):
            say(pool, old, Answer.HAPPENED)

    def test_a_second_copy_of_an_answer_is_refused_with_the_first(self, pool: Pool) -> None:
        """V11."""
        question = asked(pool)
        say(pool, question, Answer.DID_NOT_HAPPEN)
        with unchanged(pool.store), pytest.raises(Refused, match=r"answered did_not_happen by eva"):
            say(pool, question, Answer.DID_NOT_HAPPEN)

    def test_a_second_copy_never_touches_a_later_try(self, pool: Pool) -> None:
        """V11: try 2 acted and is unknown; the copy of the answer to try 1 must not make it absent."""
        first = asked(pool)
        say(pool, first, Answer.DID_NOT_HAPPEN)
        attempt = pool.sent(pool.start(pool.task(first.task)), token="second")
        second = pool.ask(pool.start(pool.lose(attempt)), **{"try": 2})
        with unchanged(pool.store):
            with pytest.raises(Refused, match="not open"):
                say(pool, first, Answer.DID_NOT_HAPPEN)
            with pytest.raises(Refused, match="tried again"):
                say(pool, second, Answer.DID_NOT_HAPPEN, try_=1)
        assert (pool.effect().state, pool.effect().try_) == ("sent", 2)

    def test_a_question_about_an_older_try_settles_nothing(self, pool: Pool) -> None:
        """V11, the ledger's own compare: a child that asks about the wrong try."""
        task = pool.unknown()
        attempt = pool.start(task)
        attempt.settle(OPERATION, 1, "absent", quiet=True)
        again = pool.start(pool.lose(pool.sent(attempt, token="second")))
        question = pool.ask(again, **{"try": 1})
        with unchanged(pool.store), pytest.raises(Refused, match="settled"):
            say(pool, question, Answer.DID_NOT_HAPPEN)

    def test_what_the_ledger_has_settled_is_not_settled_again(self, pool: Pool) -> None:
        question = asked(pool)
        pool.store.client.hset(keys.effect(OPERATION), "state", "happened")
        with unchanged(pool.store), pytest.raises(Refused, match="settled"):
            say(pool, question, Answer.DID_NOT_HAPPEN)

    @pytest.mark.parametrize("answer", [Answer.APPROVE, Answer.REJECT])
    def test_an_unknown_outcome_cannot_be_approved(self, pool: Pool, answer: Answer) -> None:
        question = asked(pool)
        with unchanged(pool.store), pytest.raises(Refused, match="does not fit"):
            say(pool, question, answer)

    @pytest.mark.parametrize("answer", [Answer.HAPPENED, Answer.DID_NOT_HAPPEN])
    def test_what_was_not_done_yet_cannot_have_happened(self, pool: Pool, answer: Answer) -> None:
        question = approval(pool)
        with unchanged(pool.store), pytest.raises(Refused, match=r"does not fit.*approve, reject, look_again"):
            say(pool, question, answer)

    def test_a_task_that_left_review_takes_no_answer(self, pool: Pool) -> None:
        question = asked(pool)
        pool.put(pool.task(question.task), status="ready")
        with unchanged(pool.store), pytest.raises(Refused, match="not in review"):
            say(pool, question, Answer.HAPPENED)

    def test_an_answer_to_a_withdrawn_question_is_refused(self, pool: Pool) -> None:
        question = approval(pool)
        tasks.cancel(pool.store, question.task, "adam")
        with unchanged(pool.store), pytest.raises(Refused, match="not open"):
            say(pool, question, Answer.APPROVE)

    def test_every_refusal_of_the_script_has_a_sentence(self) -> None:
        assert set(reviews.WHY_NOT) == {"question", "status", "try", "kind", "quiet", "state"}

    def test_a_restored_question_that_was_closed_stays_closed(self, pool: Pool) -> None:
        """V8, the store's part: a closed question of an older epoch takes no late copy."""
        question = asked(pool)
        text = json.loads(str(pool.store.client.hget(keys.QUESTIONS, question.id)))
        pool.store.client.hset(keys.QUESTIONS, question.id, json.dumps({**text, "state": "restored"}))
        with unchanged(pool.store), pytest.raises(Refused, match="not open"):
            say(pool, question, Answer.DID_NOT_HAPPEN)
