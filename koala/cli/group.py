"""The root command: its order of commands, and how it ends."""

from __future__ import annotations

from typing import Any, NoReturn

from typer.core import TyperGroup

from koala.cli.failure import guarded

TASKS, PEOPLE, POOL, PROFILES, LAPTOP = "Tasks", "People", "Pool", "Profiles", "This machine"

PANELS = {
    TASKS: ("submit", "tasks", "task", "cancel", "retry", "schedule"),
    PEOPLE: ("review", "attempt"),
    POOL: ("status", "workers", "pause", "resume", "drain", "image", "restore"),
    PROFILES: ("profile",),
    LAPTOP: ("run", "doctor", "systemd", "exits"),
}
"""All commands, as the help shows them."""


def panel(name: str) -> str:
    """The panel of a command."""
    return next(title for title, commands in PANELS.items() if name in commands)


class Commands(TyperGroup):
    """Whatever is raised below it ends as one line and a documented exit code."""

    def main(self, *args: Any, **extra: Any) -> NoReturn:
        """Run and exit; never returns, whatever `standalone_mode` says."""
        extra["standalone_mode"] = False
        raise SystemExit(guarded(lambda: super(Commands, self).main(*args, **extra)))

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of PANELS."""
        return [name for names in PANELS.values() for name in names]
