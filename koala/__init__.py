"""Koala keeps browser agents running as a service: this is the author's interface.

from koala import ABSENT, Limits, Run, minutes, over, seconds, usd, workflow
"""

from koala.client import submit
from koala.effect import ABSENT, Operation
from koala.errors import Permanent
from koala.run import Run, StepTimeout
from koala.secret import Secret
from koala.signals import AskReview, Cancel, Snooze
from koala.units import minutes, over, seconds, usd
from koala.workflow import Limits, NoArgs, Workflow, workflow

__all__ = [
    "ABSENT",
    "AskReview",
    "Cancel",
    "Limits",
    "NoArgs",
    "Operation",
    "Permanent",
    "Run",
    "Secret",
    "Snooze",
    "StepTimeout",
    "Workflow",
    "minutes",
    "over",
    "seconds",
    "submit",
    "usd",
    "workflow",
]
