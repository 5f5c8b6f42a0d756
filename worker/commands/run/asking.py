"""A question of a run, asked on the terminal."""

from __future__ import annotations

import asyncio

from koala import reviews
from koala.cli.output import say
from koala.cli.text import pretty
from koala.errors import Refused
from koala.reviews import Answer, Question
from koala.store import Store
from worker.commands import terminal
from worker.commands.desk import person

KINDS = {
    "approval": "May this be done?",
    "unknown": "Did this happen? Look at the site itself before you answer.",
}


def show(question: Question) -> None:
    """Print it."""
    say(f"{KINDS.get(question.kind, question.kind)}  {question.operation}, try {question.try_}", "magenta")
    for line in pretty(question.description).splitlines():
        say(f"  {line}")
    say(f"  {question.why}")


async def ask(store: Store, question_id: str, stop: asyncio.Event) -> bool:
    """Show it and apply the answer; False when there is nobody to ask, or none was given: it stays open."""
    question = reviews.get(store, question_id)
    show(question)
    if not terminal.is_there():
        say("Nobody is at this terminal: run the same command in one, and it asks there.", "yellow")
        return False
    while not stop.is_set():
        given = await _answer(question, stop)
        if given is None:
            return False
        try:
            reviews.answer(store, question.id, given, person())
        except Refused as error:
            say(str(error), "red")
        else:
            return True
    return False


async def _answer(question: Question, stop: asyncio.Event) -> Answer | None:
    words = [answer.value.replace("_", " ") for answer in question.allowed]
    say(f"Answer one of: {', '.join(words)}; nothing leaves it open.", "bold")
    while text := (await _typed(stop)).lower():
        fitting = [answer for answer, word in zip(question.allowed, words, strict=True) if word.startswith(text)]
        if len(fitting) == 1:
            return fitting[0]
        say(f"that is none of: {', '.join(words)}")
    return None


async def _typed(stop: asyncio.Event) -> str:
    line, stopped = asyncio.ensure_future(terminal.line()), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({line, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return line.result() if line.done() else ""
    finally:
        line.cancel()
        stopped.cancel()
