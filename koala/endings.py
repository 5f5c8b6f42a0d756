"""How an attempt ends, by what its workflow returned or raised: the words that the slot's parent is told."""

from __future__ import annotations

import errno
from typing import Any

from koala import ledger
from koala.errors import InvalidArguments, KoalaError, Permanent, told
from koala.redaction import redact, veil
from koala.signals import AskReview, Cancel, End, Snooze
from koala.values import to_json

Ending = dict[str, Any]
"""`outcome`, `reason`, and by outcome result, error and code, delay_s or question. `kill`: nothing is closed kindly.
`final`: it failed, and would again."""
DISK_FULL = "disk_full"
"""Code of a failure to write anything here: no fault of the work."""
FINAL = (Permanent, InvalidArguments)
"""What no further attempt mends."""


def returned(result: Any) -> Ending:
    """The workflow came to its end. Raises TypeError or PayloadTooLarge when its result cannot be kept."""
    return {"outcome": "done", "reason": "done", "result": to_json(result, "the result")}


def raised(error: BaseException, workflow: str, task_id: str) -> Ending:
    """It raised: signals end as they say, anything else is a failure of the work."""
    if isinstance(error, End):
        kill = error.outcome == "crashed"
        return {"outcome": error.outcome, "reason": error.reason, "kill": kill, **error.details}
    if isinstance(error, AskReview):
        return _asked(error, workflow, task_id)
    if isinstance(error, Snooze):
        return {"outcome": "snoozed", "reason": error.reason, "delay_s": error.seconds}
    if isinstance(error, Cancel):
        return {"outcome": "cancelled", "reason": error.reason}
    return _failed(error)


def unsettled(opened: dict[str, dict[str, Any]], *, quiet: bool = False) -> Ending | None:
    """The question with which an attempt ends whose workflow returned while an effect is `sent`; None when none is.

    `quiet` when all who could act are proved gone and the settle time is over.
    """
    for operation, sent in opened.items():
        why = "the workflow ended without coming back to this effect"
        question = {
            "kind": "unknown",
            "operation": operation,
            "try": sent["try"],
            "hash": sent["hash"],
            "description": sent["description"],
            "quiet": quiet,
            "why": why,
            "evidence": sent["fence"],
        }
        return {"outcome": "review", "reason": why, "question": question}
    return None


def _asked(signal: AskReview, workflow: str, task_id: str) -> Ending:
    """The question of a workflow that raised AskReview, about a description as it stands now."""
    operation = ledger.operation(workflow, f"ask.{veil(signal.subject)}", task_id)
    description = ledger.canonical(signal.describe)
    question = {
        "kind": "approval",
        "operation": operation,
        "try": 0,
        "hash": ledger.digest(operation, description),
        "description": description,
        "quiet": True,
        "why": signal.reason,
        "evidence": "",
    }
    return {"outcome": "review", "reason": signal.reason, "question": question}


def _failed(error: BaseException) -> Ending:
    text = redact(told(error))[:4000]
    code = error.code if isinstance(error, KoalaError) else ""
    reason = text.splitlines()[0][:300]
    if _is_disk_full(error):
        code, reason = DISK_FULL, f"the worker's disk takes nothing more: make room. {reason}"
    return {"outcome": "failed", "reason": reason, "error": text, "code": code, "final": isinstance(error, FINAL)}


def _is_disk_full(error: BaseException) -> bool:
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
