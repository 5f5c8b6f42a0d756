"""A slot's trial: it runs one canary, alone, before other work meets its image."""

from __future__ import annotations

import socket

from koala import images, trials
from koala.keys import ENDED
from koala.tasks import Task
from worker import throwaway
from worker.attempt import Ended
from worker.place import Place


def is_due(place: Place) -> bool:
    """Whether this slot has to be tried: its image is on trial, and it was not tried with it in an earlier life of
    this worker's container. Redis errors pass through.
    """
    return images.is_on_trial(place.store, place.settings.image) and not trials.passed(place.store, *_who(place))


def remember(place: Place) -> None:
    """It has been tried: a restart of this container tries it no more."""
    trials.remember(place.store, *_who(place))


def throw_away(place: Place, task: Task, ended: Ended) -> None:
    """Remove the profile of a canary that will not run again."""
    if ended.status in ENDED:
        throwaway.remove(place.store, place.volume, task.profile, place.slot, place.terms)


def _who(place: Place) -> tuple[str, str, str]:
    return place.settings.image, socket.gethostname(), place.slot.removeprefix(f"{place.worker}-")
