"""A task's timeline in words: one sentence an event."""

from __future__ import annotations

from typing import Any

from koala.cli.text import brief, visible
from koala.timeline import Event


class _Known(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return "?"


SENTENCES = {
    "task_submitted": "accepted",
    "attempt_started": "attempt {fence} starts on slot {slot}",
    "attempt_ended": "attempt {fence} ends: {outcome}",
    "still_waits": "it was tried {times} times, and still waits",
    "attempt_lost": "attempt {fence} is lost",
    "attempt_gone": "attempt {fence} is reported gone by {by}: {because}",
    "delivery_lost": "delivery {job} did not come",
    "step_started": "step {step} begins",
    "step_done": "step {step} is saved",
    "step_failed": "step {step} failed: {error}",
    "tab_died": "its tab died: it goes on with a new one behind its checkpoints",
    "guard_blocked": "the guard blocked {method} to {host}",
    "effect_rehearsed": "effect {operation} is rehearsed, not done; confirm: {confirm}",
    "restored": "the store is restored from a backup ({was} there)",
    "effect_doubted": "effect {operation} may have been done after the backup: it is looked for first",
    "effect_sent": "effect {operation} is sent, try {try}",
    "effect_happened": "effect {operation} happened ({how})",
    "effect_absent": "effect {operation} did not happen ({how})",
    "takeover_started": "an earlier attempt left {operation} open: looking whether it happened",
    "takeover_proof": "is everyone gone who could act on {operation}: {proved}",
    "profile_closed": "the profile's browser is closed: {ending}",
    "confirm_failed": "confirm of {operation} failed: {error}",
    "receipt_taken": "{operation} had happened for task {of}: its receipt is taken",
    "end_wanted": "it is to end as {wanted}",
    "end_waits": "it is to end as {wanted}, once {open} open effect(s) are settled",
    "review_asked": "review {question} asks a person ({kind}) about {operation}",
    "review_answered": "review {question} is answered {answer} by {by}",
    "artifact": "artifact {file}",
    "log": "{text}",
}
"""What happened, by action; `task_…` and unknown actions are told by their own name."""

NOTES = ("why", "note")


def sentence(event: Event) -> str:
    """One safe line about an event."""
    data = {name: brief(_word(value), 300) for name, value in event.data.items()}
    template = SENTENCES.get(event.action)
    told = template.format_map(_Known(data)) if template else _untold(event.action, data)
    notes = [data[name] for name in NOTES if data.get(name) and not told.endswith(data[name])]
    return ": ".join([told, *notes])


def _word(value: Any) -> Any:
    """Yes and no, as people say them."""
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else value


def _untold(action: str, data: dict[str, str]) -> str:
    if action.startswith("task_"):
        return f"the task is {visible(action.removeprefix('task_'))}"
    rest = [f"{visible(name)}={value}" for name, value in data.items() if name not in NOTES]
    return " ".join([visible(action), *rest])


EFFECT = ("effect_sent", "effect_happened", "effect_absent")
TROUBLE = (
    "attempt_lost",
    "confirm_failed",
    "guard_blocked",
    "step_failed",
    "tab_died",
    "task_dead",
    "task_failed",
)


def style(action: str) -> str:
    """How an event stands out, as a rich style."""
    if action in EFFECT:
        return "bold"
    if action in TROUBLE:
        return "red"
    if action.startswith("review_"):
        return "magenta"
    return "green" if action == "task_done" else ""
