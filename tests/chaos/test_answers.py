"""Reviews end to end: the five answers, and the ways in which an answer must be refused (V9, V10, V11, V25)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from koala import reviews
from koala.errors import Refused
from koala.reviews import Answer, Question
from tests.support.live_pool import PATIENT, LivePool

WHO = "ann"


@pytest.fixture(scope="module")
def busy() -> Iterator[LivePool]:
    """A running pool, shared: every test here leaves it whole."""
    with LivePool(**PATIENT) as pool:
        pool.start(3)
        yield pool


def asked(pool: LivePool, id_: str, kind: str = "unknown", *, quiet: bool = True) -> Question:
    """The question that the task waits with."""
    pool.until_status(id_, "review")
    question = pool.question(id_)
    assert (question.kind, question.quiet) == (kind, quiet), pool.story(id_)
    return question


def answer(pool: LivePool, question: Question, given: Answer, **more: object) -> str:
    """Answer as the person WHO."""
    return reviews.answer(pool.store, question.id, given, WHO, **more)  # type: ignore[arg-type]


def unknown_without_confirm(pool: LivePool, reference: str) -> tuple[str, Question]:
    """A task whose act failed before the shop stored anything, and that cannot look."""
    pool.shop.set_manners(error_before_store={"reference": reference, "times": 1})
    id_ = pool.errand("test.no_confirm", reference)
    return id_, asked(pool, id_)


def test_an_approved_order_is_placed(busy: LivePool) -> None:
    """Nothing is sent before the answer; nothing is asked twice."""
    id_ = busy.errand("test.order", "approve", approve=True)
    question = asked(busy, id_, "approval")
    assert question.description == {"reference": "approve"}
    assert "approve" not in busy.shop.state()["arrivals"]
    answer(busy, question, Answer.APPROVE)
    busy.until_done(id_)
    assert busy.orders("approve") == 1
    assert len(busy.events(id_, "review_asked")) == 1


def test_a_rejected_order_is_never_placed(busy: LivePool) -> None:
    """The task ends as cancelled and says by whom."""
    id_ = busy.errand("test.order", "reject", approve=True)
    assert answer(busy, asked(busy, id_, "approval"), Answer.REJECT) == "cancelled"
    assert busy.task(id_).reason == f"rejected by {WHO}"
    assert "reject" not in busy.shop.state()["arrivals"]


def test_an_approval_is_for_the_price_that_was_shown(busy: LivePool) -> None:
    """V25: the price moves while a person decides: the new one is asked about, the old approval counts for nothing."""
    id_ = busy.errand("test.order", "moved", approve=True, what="price")
    first = asked(busy, id_, "approval")
    busy.shop.set_manners(price_moves={"sku": "LAMP-1", "times": 1})
    answer(busy, first, Answer.APPROVE)
    busy.until_event(id_, "review_asked", times=2)
    second = asked(busy, id_, "approval")

    assert second.description["price"] != first.description["price"]
    assert "moved" not in busy.shop.state()["arrivals"]
    answer(busy, second, Answer.APPROVE)
    busy.until_done(id_)
    assert busy.orders("moved") == 1


def test_happened_is_taken_at_any_time_and_becomes_the_receipt(busy: LivePool) -> None:
    """The person found the order."""
    id_, question = unknown_without_confirm(busy, "happened")
    answer(busy, question, Answer.HAPPENED, receipt={"order": "K-by-hand"})
    busy.until_done(id_)
    assert busy.result(id_) == {"order": "K-by-hand"}
    assert busy.orders("happened") == 0  # the person said so, and is believed
    assert len(busy.events(id_, "effect_sent")) == 1


def test_did_not_happen_on_a_quiet_question_lets_it_be_done_once_more(busy: LivePool) -> None:
    """By a new try of a new attempt."""
    id_, question = unknown_without_confirm(busy, "again")
    answer(busy, question, Answer.DID_NOT_HAPPEN)
    busy.until_done(id_)
    assert busy.orders("again") == 1
    assert [event.data["try"] for event in busy.events(id_, "effect_sent")] == [1, 2]


def test_look_again_asks_the_site_again(busy: LivePool) -> None:
    """Confirm could not tell; after the answer it can."""
    busy.shop.set_manners(error_before_store={"reference": "sight", "times": 1})
    id_ = busy.errand("test.blind", "sight")
    question = asked(busy, id_)
    assert "cannot tell" in question.why
    assert busy.events(id_, "confirm_failed")
    busy.open_gate("sight", "sight")
    answer(busy, question, Answer.LOOK_AGAIN)
    busy.until_done(id_)
    assert busy.orders("sight") == 1


def test_an_effect_that_its_workflow_does_not_come_back_to_is_asked_about_when_it_is_quiet(busy: LivePool) -> None:
    """The proof and the settle time come first, so that a person can give any answer."""
    busy.shop.set_manners(error_before_store={"reference": "forgets", "times": 1})
    id_ = busy.errand("test.forgets", "forgets")
    question = asked(busy, id_)
    assert "without coming back" in question.why
    assert busy.effect("forgets", "test.forgets").state == "sent"
    busy.open_gate("forgets", "mind")
    answer(busy, question, Answer.DID_NOT_HAPPEN)
    busy.until_done(id_)
    assert [event.data["try"] for event in busy.events(id_, "effect_sent")] == [1, 2]
    assert busy.orders("forgets") == 1


def unquiet(pool: LivePool, reference: str, what: str = "") -> tuple[str, Question]:
    """A task that took its worker down three times, in the act and in each look: nobody has proved anything yet."""
    id_ = pool.errand("test.exits", reference, where="before look", times=3, what=what)
    return id_, asked(pool, id_, quiet=False)


def test_v9_did_not_happen_is_refused_while_it_is_not_quiet(busy: LivePool) -> None:
    """The refusal says what is missing, and the question stays open; after a look that could tell, the task ends."""
    id_, question = unquiet(busy, "v9")
    with pytest.raises(Refused, match="look again"):
        answer(busy, question, Answer.DID_NOT_HAPPEN)
    assert busy.question(id_) == question
    assert busy.effect("v9", "test.exits").state == "sent"

    answer(busy, question, Answer.LOOK_AGAIN)
    busy.until_status(id_, "dead")
    assert busy.effect("v9", "test.exits").state == "absent"
    assert busy.orders("v9") == 0


def test_v10_the_proof_closes_the_old_question_and_opens_a_new_one(busy: LivePool) -> None:
    """An answer to the old one comes too late, whatever it says."""
    id_, old = unquiet(busy, "v10", what="blind")
    answer(busy, old, Answer.LOOK_AGAIN)
    busy.until_event(id_, "review_asked", times=2)
    new = asked(busy, id_)

    assert new.id != old.id
    for given in (Answer.DID_NOT_HAPPEN, Answer.HAPPENED, Answer.LOOK_AGAIN):
        with pytest.raises(Refused, match="not open"):
            answer(busy, old, given)
    answer(busy, new, Answer.DID_NOT_HAPPEN)
    busy.until_status(id_, "dead")
    assert busy.orders("v10") == 0


def test_v11_a_copy_of_an_answer_does_not_touch_a_later_try(busy: LivePool) -> None:
    """Two tries fail; the answer to the first comes again while the second is unknown."""
    busy.shop.set_manners(error_before_store={"reference": "v11", "times": 2})
    id_ = busy.errand("test.no_confirm", "v11")
    first = asked(busy, id_)
    answer(busy, first, Answer.DID_NOT_HAPPEN)
    busy.until_event(id_, "review_asked", times=2)
    second = asked(busy, id_)

    with pytest.raises(Refused, match=f"answered did_not_happen by {WHO}"):
        answer(busy, first, Answer.DID_NOT_HAPPEN)
    with pytest.raises(Refused, match="tried again"):
        answer(busy, second, Answer.DID_NOT_HAPPEN, try_=first.try_)
    assert busy.effect("v11", "test.no_confirm").state == "sent"
    answer(busy, second, Answer.DID_NOT_HAPPEN)
    busy.until_done(id_)
    assert busy.orders("v11") == 1


def test_an_answer_of_the_wrong_kind_is_refused(busy: LivePool) -> None:
    """Approving is not settling."""
    id_ = busy.errand("test.order", "kind", approve=True)
    question = asked(busy, id_, "approval")
    with pytest.raises(Refused, match="does not fit"):
        answer(busy, question, Answer.HAPPENED)
    answer(busy, question, Answer.REJECT)


def test_a_workflow_asks_by_itself_and_goes_on_after_the_answer(busy: LivePool) -> None:
    """AskReview: the same subject with the same description is asked once."""
    id_ = busy.errand("test.signals", "terms", what="ask")
    question = asked(busy, id_, "approval")
    assert (question.why, question.description) == ("are these good terms?", {"reference": "terms"})
    answer(busy, question, Answer.APPROVE)
    busy.until_done(id_)
    assert len(busy.events(id_, "review_asked")) == 1
