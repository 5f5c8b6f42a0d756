"""Every failure as one line and one exit code; a traceback only where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import redis
import typer

from koala.cli import streams
from koala.cli.output import say
from koala.errors import KoalaError, told
from koala.exits import INTERRUPTED as INTERRUPTED
from koala.exits import Exit

debugging = False
"""Set by `koala --debug`: faults of Koala itself show their traceback."""


def describe(error: BaseException) -> tuple[str, str, int]:
    """The stable code, the text and the exit code of a failure."""
    if isinstance(error, KoalaError):
        return error.code, str(error), error.exit
    if isinstance(error, redis.exceptions.RedisError):
        return "store", f"the store refused this: {error}", Exit.FAILED
    if isinstance(error, typer.TyperException):
        return "usage", _usage(error), error.exit_code
    if isinstance(error, OSError) and error.errno:
        return "machine", f"this machine refuses it: {told(error)}", Exit.FAILED
    text = f"{told(error)}; this is a fault of Koala, `koala --debug …` shows where"
    return "unexpected", text, Exit.FAILED


def _usage(error: typer.TyperException) -> str:
    """What is wrong with the command line; empty for a bare group, which has printed its help."""
    context: Any = getattr(error, "ctx", None)
    hint = f" (`{context.command_path} --help` explains)" if context else ""
    text = error.format_message().rstrip(".")
    return text and f"{text}{hint}"


def report(error: BaseException) -> int:
    """Print the one line; returns the exit code."""
    code, text, exit_code = describe(error)
    if text:
        say(f"error[{code}]: {' '.join(text.split())}", style="red")
    return int(exit_code)


def guarded(run: Callable[[], Any]) -> int:
    """The exit code of a command; whatever it raises ends as one line, also that its output went nowhere."""
    try:
        return _ended(run)
    finally:
        streams.give_up()


def _ended(run: Callable[[], Any]) -> int:
    try:
        code = run()
        streams.flush()
    except typer.Abort:
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        return Exit.OK
    except Exception as error:
        if debugging and describe(error)[0] in ("unexpected", "machine"):
            raise
        return report(error)
    if code == INTERRUPTED:
        say("interrupted")
    return code if isinstance(code, int) else Exit.OK
