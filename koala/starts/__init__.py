"""Starts of the programs: each is written down before anything else is read, so that none fails unseen.

A program appends to `<program>.jsonl` in the directory of KOALA_STARTS; the active scheduler copies that into the
store, where `koala status` and the metrics find it. So a start is counted also when the settings are wrong, a secret
is missing or the store is away.
"""

from koala.starts.copying import PROGRAMS, copy, seen
from koala.starts.counting import Start, counted
from koala.starts.tally import HostStarts, Tally

__all__ = ["PROGRAMS", "HostStarts", "Start", "Tally", "copy", "counted", "seen"]
