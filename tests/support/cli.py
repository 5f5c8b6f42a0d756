"""The command line, called as a user calls it."""

from __future__ import annotations

from dataclasses import dataclass, field

from typer.testing import CliRunner

from koala.cli import app
from tests.support import access
from tests.support.said import Said as Said


@dataclass
class Cli:
    """`koala` in this process, with these KOALA_ variables, as the store's user `operator`."""

    url: str
    columns: int = 120
    more: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        """The variables that a command sees besides the ones of the test."""
        own = {"KOALA_REDIS_URL": self.url, "KOALA_WORKFLOWS": "tests.support.flows", **access.as_user("operator")}
        return {**own, "COLUMNS": str(self.columns), "NO_COLOR": "1", **self.more}

    def __call__(self, *words: str, typed: str = "") -> Said:
        """Run a command to its end, whatever that is."""
        result = CliRunner().invoke(app, list(words), input=typed, env=self.env, prog_name="koala")
        if result.exception and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def ok(self, *words: str, typed: str = "") -> Said:
        """A command that has to end well."""
        said = self(*words, typed=typed)
        assert said.code == 0, said.err
        return said

    def fails(self, code: int, name: str, *words: str, typed: str = "") -> str:
        """A command that has to be refused with one line `error[name]: …`, which is returned."""
        said = self(*words, typed=typed)
        lines = said.err.splitlines()
        assert (said.code, said.out, len(lines)) == (code, "", 1), said
        assert lines[0].startswith(f"error[{name}]: ")
        return lines[0]
