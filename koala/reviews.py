"""Reviews: questions to a person with evidence, and their five answers."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from koala import counts, keys, tasks
from koala.errors import NotFound, Refused
from koala.store import Store


class Answer(StrEnum):
    """What a person can say; the same five on every surface."""

    APPROVE = "approve"
    REJECT = "reject"
    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did_not_happen"
    LOOK_AGAIN = "look_again"


@dataclass(frozen=True)
class Question:
    """A question about one try of one effect. `kind` is approval (before the act) or unknown (after it)."""

    id: str
    task: str
    operation: str
    kind: str
    try_: int
    hash: str
    description: Any
    quiet: bool
    why: str
    evidence: str
    state: str
    asked_ms: int
    answer: str = ""
    by: str = ""
    note: str = ""

    @property
    def allowed(self) -> list[Answer]:
        """The answers that can be accepted now."""
        if self.state != "open":
            return []
        if self.kind == "approval":
            return [Answer.APPROVE, Answer.REJECT, Answer.LOOK_AGAIN]
        return [Answer.HAPPENED, *([Answer.DID_NOT_HAPPEN] if self.quiet else []), Answer.LOOK_AGAIN]


def _read(text: str) -> Question:
    record = json.loads(text)
    names = Question.__dataclass_fields__
    known = {name: record[name] for name in names if name in record and record[name] is not None}
    known["try_"] = int(record["try"])
    known["description"] = json.loads(record["description"]) if record.get("description") else None
    known["quiet"] = bool(record.get("quiet"))
    known.setdefault("why", "")
    known.setdefault("evidence", "")
    return Question(**known)


def get(store: Store, question_id: str) -> Question:
    """One question, open or closed. Raises NotFound."""
    text = store.client.hget(keys.QUESTIONS, question_id)
    if not text or question_id == "last":
        raise NotFound(f"there is no review {question_id!r}: `koala review list` shows the open ones")
    return _read(str(text))


def open_questions(store: Store) -> list[Question]:
    """All open questions, oldest first."""
    ids = [str(id_) for id_ in store.client.zrange(keys.ASKED, 0, -1)]
    texts = store.client.hmget(keys.QUESTIONS, ids) if ids else []
    return [_read(str(text)) for text in texts if text]


WHY_NOT = {
    "question": "the question is not open any more",
    "status": "its task is not in review any more",
    "try": "the effect has been tried again since this question was asked",
    "kind": "that answer does not fit this kind of question",
    "quiet": "the old attempt is not proved gone, or the site has not settled: answer `look again`, "
    "and a new question follows",
    "state": "the ledger has settled this effect already",
}


def answer(
    store: Store,
    question_id: str,
    given: Answer,
    who: str,
    *,
    try_: int | None = None,
    note: str = "",
    receipt: Any = None,
) -> str:
    """Apply an answer, once and atomically; returns the task's status. Raises NotFound, or Refused with the reason.

    `try_` is the try that the person was shown; without it the question's own.
    """
    question = get(store, question_id)
    task = tasks.get(store, question.task)
    reply = store.run(
        "answer",
        [*task.block, keys.effect(question.operation), *counts.own_keys(counts.NOBODY)],
        task.id,
        question.id,
        question.try_ if try_ is None else try_,
        given.value,
        who,
        note,
        "" if receipt is None else json.dumps(receipt),
    )
    if reply["ok"]:
        return str(reply["status"])
    said = f" (answered {reply['answer']} by {reply['by']})" if reply.get("answer") else ""
    fits = f"; these do: {', '.join(question.allowed)}" if reply["reason"] == "kind" else ""
    raise Refused(f"the answer to review {question_id} is refused: {WHY_NOT[reply['reason']]}{fits}{said}")
