"""`restore declare`: the word that the store is an older one, put back on purpose."""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict

from koala import restore, slots
from koala.cli.output import say
from koala.errors import InvalidArguments, Refused
from koala.exits import Exit
from koala.fence import Fence
from koala.restore import Declared, Word
from koala.span import span
from koala.store import Store
from worker import watermark
from worker.commands.desk import Desk, person
from worker.commands.restore.check import refuse_living

SILENT_S = 20.0
"""How long to wait for the heartbeats that a fresh backup brings along to run out."""


def declare(desk: Desk, given: argparse.Namespace) -> Exit:
    """Declare it. Raises InvalidArguments, and Refused while somebody may still act: here, or on another machine."""
    if not given.because.strip():
        raise InvalidArguments("--because must say why the store was restored")
    _refuse_running(desk.store)
    if not given.anyway:
        refuse_living(desk.volume)
    others = restore.machines(desk.store) - {desk.volume.machine}
    if others and not given.others_gone.strip():
        raise Refused(
            f"the backup knows attempts on other machines ({', '.join(sorted(name[:8] for name in others))}), whose "
            'locks cannot be seen from here. When nothing of them can run any more, say how you know: --others-gone "…"'
        )
    word = Word(person(), given.because, desk.volume.machine, others, given.others_gone.strip())
    declared = _declared(desk, word, int(given.doubt_days * 86_400_000))
    _tell(declared, as_json=given.as_json)
    return Exit.OK


def _refuse_running(store: Store) -> None:
    deadline = time.monotonic() + SILENT_S
    while found := slots.alive(store):
        if time.monotonic() > deadline:
            workers = sorted({slot.get("worker", slot["id"]) for slot in found})
            raise Refused(f"workers run: {', '.join(workers)}. Stop all workers and schedulers first")
        time.sleep(0.2)


def _declared(desk: Desk, word: Word, doubt_ms: int) -> Declared:
    """The epoch is written down beside the profiles before the store learns of it: no later one can be smaller."""
    while True:
        highest = watermark.highest(desk.volume)
        epoch = restore.next_epoch(desk.store, highest.epoch)
        watermark.lift(desk.volume, Fence(epoch, 0))
        ttl_ms = max(watermark.read(desk.volume).ttl_ms, desk.terms.ttl_ms)
        declared = restore.declare(desk.store, epoch, word, ttl_ms=ttl_ms, doubt_ms=doubt_ms)
        if declared:
            return declared


def _tell(declared: Declared, *, as_json: bool) -> None:
    if as_json:
        json.dump(asdict(declared), sys.stdout)
        sys.stdout.write("\n")
    say(
        f"the restored store begins epoch {declared.epoch}. {declared.tasks} tasks have not ended: what they do "
        f"outside is looked for first ({declared.effects} effects are recorded). "
        f"Work can start in {span(int(declared.hold_s * 1000))}"
    )
