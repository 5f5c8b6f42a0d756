"""What a slot says of itself to the pool and to RQ, again and again, until it leaves."""

from __future__ import annotations

import os
import threading
from typing import Any

from koala import slots
from worker.fitness import Fitness
from worker.place import Place
from worker.post import Post


class Presence:
    """One slot's heartbeats. Any thread may call; after `leave` no late one brings it back."""

    def __init__(self, place: Place, post: Post) -> None:
        self._place = place
        self.post = post
        """Where it stands; may be changed between two heartbeats, by the thread that runs the slot."""
        self._turn = threading.Lock()
        self._left = False

    def say(self, fitness: Fitness, busy: str, draining: bool, ready: bool = True) -> None:
        """It lives, at its post; one that is not ready yet takes nothing. Blocking; redis errors pass through."""
        place = self._place
        ttl = max(3 * place.settings.heartbeat_s, 3.0)
        with self._turn:
            if self._left:
                return
            post = self.post  # looked at here: whoever waited for his turn says where it stands by now
            fields = self._fields(post, fitness, busy, draining, ready)
            slots.heartbeat(place.store, place.slot, ttl, fields, post.registry.runs, post.work_class)
            post.seat.heartbeat()

    def _fields(self, post: Post, fitness: Fitness, busy: str, draining: bool, ready: bool) -> dict[str, Any]:
        place = self._place
        return {
            "worker": place.worker,
            "accepting": int(ready and not draining and not fitness.owes_rest),
            "no_browser": fitness.no_browser,
            "crashing": fitness.crashing,
            "trial": int(post.on_trial),
            "task": busy,
            "pid": os.getpid(),
            "machine": place.volume.machine,
            "image": place.settings.image,
            "draining": int(draining),
            "sandbox": int(place.settings.browser_sandbox),
        }

    def leave(self) -> None:
        """It goes, for good. Blocking; redis errors pass through."""
        with self._turn:
            self._left = True
        slots.leave(self._place.store, self._place.slot, self.post.work_class)
