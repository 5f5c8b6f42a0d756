"""What can be wrong with a schedule."""

from __future__ import annotations

from koala.errors import KoalaError
from koala.exits import Exit


class InvalidSchedule(KoalaError):
    """A schedule, its file or its time zone is wrong; the text says where and why."""

    code, exit = "invalid_schedule", Exit.USAGE
