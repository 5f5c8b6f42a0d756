"""`koala image`: what a roll-out tells the pool about the image that comes and the one that goes."""

from __future__ import annotations

from collections import Counter
from typing import Annotated

import typer

from koala import canary, counts, images, names
from koala.cli import options
from koala.cli.output import answer
from koala.cli.session import session
from koala.counts import Counts

SAY_NOTHING = frozenset({"parked", "snoozed"})
"""Outcomes that the pool or the workflow chose, whatever the image."""

app = typer.Typer(no_args_is_help=True)

Tag = Annotated[str, typer.Argument(metavar="TAG", help="The image's tag.", show_default=False)]


@app.callback()
def _group() -> None:
    """Images: on trial, accepted, gone back from (by `make deploy`)."""


@app.command("try")
def try_(tag: Tag, as_: options.As = "", as_json: options.Json = False) -> None:
    """Let every worker of an image that starts from now on pass a canary before it takes work.

    Example: koala image try 20261129-194512
    """
    who = options.who(as_)
    with session() as now:
        images.try_out(now.store, names.check("image", tag), who)
    answer({"image": tag, "trial": True}, f"image {tag} is on trial", as_json)


@app.command("accept")
def accept(tag: Tag, as_: options.As = "", as_json: options.Json = False) -> None:
    """End an image's trial: its workers take work at once. Says what it has shown until now.

    Example: koala image accept 20261129-194512
    """
    options.who(as_)
    with session() as now:
        was = images.accept(now.store, names.check("image", tag))
        ended = _evidence(counts.by_image(now.store).get(tag, Counts()))
    answer(
        {"image": tag, "trial": False, "changed": was, "attempts": dict(ended)},
        f"image {tag} is accepted: {_shown(ended)}" if was else f"image {tag} was on no trial",
        as_json,
    )


def _evidence(found: Counts) -> Counter[str]:
    """Attempts that say something about an image, by outcome. Canaries are none: they had met no work yet."""
    ended: Counter[str] = Counter()
    for (workflow, outcome), number in found.attempts.items():
        if workflow != canary.NAME and outcome not in SAY_NOTHING:
            ended[outcome] += number
    return ended


def _shown(ended: Counter[str]) -> str:
    """What speaks for an image; that nothing does is said, since silence reads like a pass."""
    if not ended:
        return "no attempt has ended with it, so nothing but its canaries speaks for it"
    each = ", ".join(f"{number} {outcome}" for outcome, number in ended.most_common())
    return f"{ended.total()} attempt{'s have' if ended.total() > 1 else ' has'} ended with it ({each})"


@app.command("back")
def back(
    tag: Tag,
    to: Annotated[str, typer.Option(metavar="TAG", help="The older image.", show_default=False)],
    as_: options.As = "",
    as_json: options.Json = False,
) -> None:
    """Declare that the pool goes back to an older image.

    Where a newer Chromium has opened a profile meanwhile, workers of the older image put back the copy that was kept
    before: what was logged in since is lost, and the task's timeline says so. The next roll-out ends that.

    Example: koala image back 20261129-194512 --to 20261122-081133
    """
    who = options.who(as_)
    with session() as now:
        images.go_back(now.store, names.check("image", tag), names.check("image", to), who)
    answer({"image": tag, "to": to}, f"the pool goes back from image {tag} to {to}", as_json)
