"""Every failure as one line and one exit code; a traceback only where it was asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import redis
import typer
from typer.core import TyperGroup

from koala.cli.output import say
from koala.errors import KoalaError
from koala.exits import Exit
from koala.store import OUTAGE

INTERRUPTED = 130
"""The exit code after Ctrl-C, as shells count it."""

debugging = False
"""Set by `koala --debug`: faults of Koala itself show their traceback."""


def describe(error: BaseException) -> tuple[str, str, int]:
    """The stable code, the text and the exit code of a failure."""
    if isinstance(error, KoalaError):
        return error.code, str(error), error.exit
    if isinstance(error, OUTAGE):
        return "store_away", f"the store does not answer: {error}", Exit.STORE_AWAY
    if isinstance(error, redis.exceptions.RedisError):
        return "store", f"the store refused this: {error}", Exit.FAILED
    if isinstance(error, typer.TyperException):
        return "usage", _usage(error), error.exit_code
    text = f"{type(error).__name__}: {error}; this is a fault of Koala, `koala --debug …` shows where"
    return "unexpected", text, Exit.FAILED


def _usage(error: typer.TyperException) -> str:
    context: Any = getattr(error, "ctx", None)
    hint = f" (`{context.command_path} --help` explains)" if context else ""
    return f"{error.format_message().rstrip('.')}{hint}"


def report(error: BaseException) -> int:
    """Print the one line; returns the exit code."""
    code, text, exit_code = describe(error)
    say(f"error[{code}]: {' '.join(text.split())}", style="red")
    return int(exit_code)


class Commands(TyperGroup):
    """The root command: whatever is raised below it ends as one line and a documented exit code."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run and exit; never returns, whatever `standalone_mode` says."""
        raise SystemExit(_guarded(lambda: super(Commands, self).main(*args, **extra, standalone_mode=False)))


def _guarded(run: Callable[[], Any]) -> int:
    try:
        code = run()
    except (KeyboardInterrupt, typer.Abort):
        say("interrupted")
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has seen enough
        return Exit.OK
    except Exception as error:
        if debugging and describe(error)[0] == "unexpected":
            raise
        return report(error)
    return code if isinstance(code, int) else Exit.OK
