"""`koala pause` and `koala resume`."""

from __future__ import annotations

from typing import Annotated

import typer

from koala import images, keys, names, slots, switches, tasks
from koala.cli import options
from koala.cli.output import answer, say
from koala.cli.session import session
from koala.cli.times import ago
from koala.errors import InvalidArguments, NotFound
from koala.store import Store
from koala.switches import POOL, Switch

Workflow = Annotated[str, typer.Option(metavar="NAME", help="Only this workflow.")]
Profile = Annotated[str, typer.Option(metavar="NAME", help="Only this profile.")]


def pause(
    workflow: Workflow = "",
    profile: Profile = "",
    why: options.Why = "",
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Start nothing new in the pool, or of a workflow or profile.

    Running attempts stop at their next step. An effect under way is finished; no task loses an attempt.

    Example: koala pause --workflow shop.order --why "the shop is closed"
    """
    name, who = _chosen(workflow=workflow, profile=profile) or POOL, options.who(as_)
    with session() as now:
        first = switches.turn_on(now.store, name, who, why)
        standing = switches.all_on(now.store).get(name)
        for doubt in _doubts(now.store, workflow, profile):
            say(doubt, style="yellow")
    by = f" by {standing.by}" if standing and not first else ""
    text = f"{spoken(name)} {'is' if first else 'was already'} paused{by}"
    answer({"switch": name, "on": True, "changed": first}, text, as_json)


def resume(
    workflow: Workflow = "",
    profile: Profile = "",
    worker: Annotated[str, typer.Option(metavar="ID", help="End the drain of this worker.")] = "",
    all_: Annotated[bool, typer.Option("--all", help="End every pause; drains stay.")] = False,
    as_json: options.Json = False,
) -> None:
    """End a pause of the pool, a workflow or profile; or a drain.

    Example: koala resume --workflow shop.order
    """
    name = _chosen(workflow=workflow, profile=profile, worker=worker)
    if all_ and name:
        raise InvalidArguments("--all stands alone")
    with session() as now:
        if worker and worker not in {slot["worker"] for slot in slots.alive(now.store)}:
            switches.turn_off(now.store, name)
            raise NotFound(f"worker {worker} has ended, as a drained one does: start a new one, python -m worker")
        wanted = _pauses(switches.all_on(now.store)) if all_ else [name or POOL]
        ended = [item for item in wanted if switches.turn_off(now.store, item)]
        left, now_ms = switches.all_on(now.store), tasks.now_ms(now.store)
    for item in _pauses(left):
        say(f"still on: {described(left[item], now_ms)}", style="yellow")
    text = f"resumed: {', '.join(map(spoken, ended))}" if ended else "nothing was paused there"
    answer({"ended": ended, "left": _pauses(left)}, text, as_json)


def _chosen(**given: str) -> str:
    """The switch that the options name; empty for none. Raises InvalidArguments or InvalidName."""
    chosen = [(kind, of) for kind, of in given.items() if of]
    if len(chosen) > 1:
        raise InvalidArguments(f"choose one of {', '.join(f'--{kind}' for kind, _ in chosen)}")
    return switches.name(chosen[0][0], names.check(*chosen[0])) if chosen else ""


def _pauses(on: dict[str, Switch]) -> list[str]:
    return sorted(name for name in on if not name.startswith(("worker:", *images.KINDS)))


def _doubts(store: Store, workflow: str, profile: str) -> list[str]:
    """What may be a slip of the pen: a name that nobody knows. It is paused all the same."""
    live = slots.alive(store)
    known = {kind.rpartition("@")[0] for kind in slots.known_kinds(store, live)}
    if workflow and live and workflow not in known:
        return [f"no live worker runs a workflow {workflow!r}"]
    if profile and not store.client.hexists(keys.PROFILES, profile):
        return [f"no profile {profile!r} has been used yet"]
    return []


def spoken(name: str) -> str:
    """A switch's name in words."""
    words = {"trial": "image", "back": "image"}
    kind, colon, of = name.partition(":")
    return "the pool" if name == POOL else f"{words.get(kind, kind)} {of}" if colon else name


_VERBS = {"worker": "drains", "trial": "is on trial", "back": "is gone back to"}


def described(switch: Switch, now_ms: int) -> str:
    """A switch that is on, in words."""
    verb = _VERBS.get(switch.name.partition(":")[0], "is paused")
    note = f": {switch.why}" if switch.why else ""
    return f"{spoken(switch.name)} {verb}, by {switch.by} {ago(switch.since_ms, now_ms)} ago{note}"
