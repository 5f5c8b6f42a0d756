"""A workflow that meets text cut through a character, as pages have it, and puts it wherever an author could."""

from __future__ import annotations

from typing import Any

from koala import Limits, Permanent, Run, minutes, seconds, workflow
from koala.signals import AskReview, Cancel
from tests.support.workflows import Errand

HALF = "zo\ud83d"
RAISED = {
    "error": ValueError(HALF),
    "permanent": Permanent(HALF),
    "cancel": Cancel(HALF),
}


@workflow("test.halves", args=Errand, limits=Limits(runtime=minutes(1), attempts=1))
async def halves(run: Run, args: Errand) -> Any:
    """`what`: raises it, or has it as an effect's key or a question's subject; otherwise ends well."""
    print(HALF)
    await run.log(HALF, note=HALF)
    await run.progress(1, 2, HALF)
    seen = await run.step("read", lambda: {HALF: HALF})
    if args.what in RAISED:
        raise RAISED[args.what]
    if args.what == "subject":
        raise AskReview(HALF)
    return [
        seen,
        await run.effect(
            "write",
            key=HALF if args.what == "key" else args.reference,
            describe=[HALF],
            do=lambda op: HALF,
            timeout=seconds(5),
            settle=seconds(0),
        ),
    ]
