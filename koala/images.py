"""Images of the pool: one that is on trial, and one to which the pool went back. Both are switches, and show with them.

An image is named by its tag, as `KOALA_IMAGE` tells it to each program.
"""

from __future__ import annotations

from koala import switches
from koala.store import Store

TRIAL, BACK = "trial:", "back:"
KINDS = (TRIAL, BACK)
"""What the names of these switches begin with."""


def is_on_trial(store: Store, image: str) -> bool:
    """Whether a slot of that image that starts now has to pass a canary first."""
    return TRIAL + image in switches.all_on(store)


def gone_back_to(image: str) -> str:
    """The switch that is on while the pool has gone back to that image: its workers may undo what a newer browser did
    to a profile. Each lease tells whether it is on.
    """
    return BACK + image


def try_out(store: Store, image: str, by: str) -> None:
    """Have every slot of that image that starts from now on pass a canary first. Ends what a roll-back allowed."""
    switches.turn_on(store, TRIAL + image, by, "a roll-out")
    _end(store, BACK)


def accept(store: Store, image: str) -> bool:
    """End its trial: whatever starts from now on takes work at once. False when it was on none."""
    return switches.turn_off(store, TRIAL + image)


def go_back(store: Store, image: str, to: str, by: str) -> None:
    """Declare that the pool goes back from an image to an older one."""
    _end(store, TRIAL)
    _end(store, BACK)
    switches.turn_on(store, gone_back_to(to), by, f"from {image}")


def _end(store: Store, kind: str) -> None:
    for name in switches.all_on(store):
        if name.startswith(kind):
            switches.turn_off(store, name)
