"""The worker's commands for a person, as real processes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.support.program import ROOT
from tests.support.said import Said as Said
from worker import processes

END_S = 90.0
PUBLIC = {"PYTHONPATH": str(ROOT), "KOALA_BROWSER_SANDBOX": "0", "NO_COLOR": "1", "KOALA_LOGIN_UNSEEN": "1"}


@dataclass
class Command:
    """`python -m worker …` with these variables, and none of ours that begins with KOALA_."""

    variables: dict[str, str] = field(default_factory=dict)

    def _environment(self, more: dict[str, str]) -> dict[str, str]:
        hidden = ("KOALA_", "DISPLAY", "WAYLAND_DISPLAY")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
        return {**ours, **PUBLIC, **self.variables, **more}

    def __call__(self, *words: str, **more: str) -> Said:
        """Run it to its end."""
        done = subprocess.run(
            [sys.executable, "-m", "worker", *words],
            env=self._environment(more),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=END_S,
            check=False,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    @contextmanager
    def started(self, *words: str, terminal: bool = False, **more: str) -> Iterator[Running]:
        """Run it beside the test; at the end it and all below it are gone, whatever state they are in."""
        running = Running([sys.executable, "-m", "worker", *words], self._environment(more), terminal)
        try:
            yield running
        finally:
            running.end()
            running.forget()


class Running:
    """A command under way. With a terminal it can be typed to, and its words are read from there."""

    def __init__(self, command: list[str], environment: dict[str, str], terminal: bool) -> None:
        ours, theirs = pty.openpty()
        self._terminal = ours
        self.popen = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", *command],
            env=environment,
            stdin=theirs if terminal else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._heard = b""
        self._ever: dict[processes.Process, None] = {}

    def tree(self) -> list[processes.Process]:
        """It and its living descendants, parents first."""
        root = processes.find(self.popen.pid)
        found = processes.tree(root) if root else []
        self._ever.update(dict.fromkeys(found))
        return found

    def hear(self, word: str) -> str:
        """Wait until it has said this; all that it has said so far. AssertionError when it ends without."""
        while word.encode() not in self._heard:
            try:
                heard = os.read(self._terminal, 65536)
            except OSError:
                heard = b""
            assert heard, f"it ended without {word!r}: {self._heard.decode()}"
            self._heard += heard
        return self._heard.decode()

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self._terminal, text.encode() + b"\n")

    def wait(self) -> int:
        """Its exit code, once it has ended; what it said last is heard."""
        try:
            while heard := os.read(self._terminal, 65536):
                self._heard += heard
        except OSError:  # the other end is closed
            pass
        return self.popen.wait(END_S)

    @property
    def said(self) -> str:
        """What was heard so far."""
        return self._heard.decode()

    def end(self) -> None:
        """SIGKILL to it and all that it ever had below it; again is harmless."""
        everyone = [*self.tree(), *self._ever]
        self.popen.kill()
        processes.end_tree(everyone)
        self.popen.wait()

    def forget(self) -> None:
        """Close what it was heard by."""
        if self.popen.stdout:
            self.popen.stdout.close()
        os.close(self._terminal)
