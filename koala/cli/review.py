"""`koala review list|show|answer`."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from koala import reviews, tasks
from koala.cli import options
from koala.cli.output import Row, data, listing, out, say, show
from koala.cli.output import answer as told
from koala.cli.session import session
from koala.cli.text import foreign, pretty, visible
from koala.cli.times import ago, local
from koala.errors import InvalidArguments
from koala.reviews import Answer, Question

app = typer.Typer(no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Questions that wait for a person: list, show, answer."""


ReviewId = Annotated[str, typer.Argument(metavar="ID", help="The review's id.", show_default=False)]

MEANINGS = {
    Answer.APPROVE: "do it, exactly as described",
    Answer.REJECT: "do not do it; the task ends as cancelled",
    Answer.HAPPENED: "it was done: take it as done and go on",
    Answer.DID_NOT_HAPPEN: "it was not done: the task may do it again",
    Answer.LOOK_AGAIN: "let the task look once more; it may ask anew",
}


def public(question: Question) -> dict[str, Any]:
    """A question as JSON-ready data."""
    record = {name.rstrip("_"): value for name, value in vars(question).items()}
    return {**record, "allowed": [str(item) for item in question.allowed]}


@app.command("list")
def list_(as_json: options.Json = False) -> None:
    """List the open questions, oldest first.

    Example: koala review list
    """
    with session() as now:
        found = reviews.open_questions(now.store)
        now_ms = tasks.now_ms(now.store)
    if as_json:
        data([public(question) for question in found])
    elif found:
        out().print(_listed(found, now_ms))
    else:
        say("no open reviews")


def _listed(found: list[Question], now_ms: int) -> RenderableType:
    rows: list[Row] = [
        [
            foreign(question.id, "bold"),
            foreign(question.kind, "magenta"),
            ago(question.asked_ms, now_ms),
            foreign(question.operation),
            foreign(question.why),
        ]
        for question in found
    ]
    return listing(["review", "kind", ">age", "about…", "why…"], rows)


@app.command("show")
def show_(review_id: ReviewId, as_json: options.Json = False) -> None:
    """Show a question, its evidence and the answers it takes.

    Example: koala review show 1764434000000-3
    """
    with session() as now:
        question = reviews.get(now.store, review_id)
    show(lambda: public(question), lambda: _card(question), as_json)


def _card(question: Question) -> RenderableType:
    rows = Table.grid(padding=(0, 2))
    rows.add_row("review", Text(f"{visible(question.id)} ({visible(question.state)})", "bold"))
    rows.add_row("kind", _kind(question))
    rows.add_row("task", foreign(question.task))
    rows.add_row("effect", foreign(f"{question.operation}, try {question.try_}"))
    rows.add_row("asked", local(question.asked_ms))
    rows.add_row("why", foreign(question.why))
    rows.add_row("described", Text(pretty(question.description)))
    if question.evidence:
        rows.add_row("evidence", foreign(question.evidence))
    if question.answer:
        rows.add_row("answer", foreign(f"{question.answer} by {question.by} {question.note}".strip()))
    return Group(rows, *_ways(question))


def _kind(question: Question) -> Text:
    if question.kind == "approval":
        return Text("approval: nothing has been done yet")
    ready = "" if question.quiet else "; the old attempt is not proved gone, or the site has not settled"
    return Text(f"unknown: it may or may not have been done{ready}")


def _ways(question: Question) -> list[RenderableType]:
    ways = Table.grid(padding=(0, 2))
    for item in question.allowed:
        ways.add_row("", Text(item, "bold"), MEANINGS[item])
    title = Text(f"\nkoala review answer {visible(question.id)} ANSWER, where ANSWER is")
    return [title, ways] if question.allowed else []


@app.command("answer")
def answer_(
    review_id: ReviewId,
    given: Annotated[str, typer.Argument(metavar="ANSWER", help=" | ".join(Answer), show_default=False)],
    note: Annotated[str, typer.Option(metavar="TEXT", help="What you saw; kept with the answer.")] = "",
    receipt: Annotated[str, typer.Option(metavar="JSON", help="With happened: the receipt for the task.")] = "",
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Answer a question; the first answer counts.

    What each answer means: `koala review show ID`.

    Example: koala review answer 1764434000000-3 happened --note "order 4711 is in the list"
    """
    chosen, who = _parse(given), options.who(as_)
    proof = _receipt(chosen, receipt)
    with session() as now:
        task = reviews.get(now.store, review_id).task
        status = reviews.answer(now.store, review_id, chosen, who, note=note, receipt=proof)
    record = {"review": review_id, "answer": str(chosen), "by": who, "task": task, "status": status}
    told(record, f"{review_id} answered {chosen} by {who}; task {task} is {status}", as_json)


def _parse(text: str) -> Answer:
    """An answer, also with spaces or hyphens as people write it. Raises InvalidArguments."""
    plain = "_".join(text.lower().replace("-", " ").replace("_", " ").split())
    try:
        return Answer(plain)
    except ValueError:
        raise InvalidArguments(f"{text!r} is no answer: use one of {', '.join(Answer)}") from None


def _receipt(chosen: Answer, text: str) -> Any:
    if not text:
        return None
    if chosen is not Answer.HAPPENED:
        raise InvalidArguments("--receipt goes with the answer happened")
    try:
        return json.loads(text)
    except ValueError as error:
        raise InvalidArguments(f"--receipt is not JSON: {error}") from None
