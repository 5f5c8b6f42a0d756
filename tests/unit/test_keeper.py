"""CI ends everything that a stage started, however it left."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

KEEPER = [sys.executable, str(Path(__file__).parents[2] / ".ci/keeper.py"), "sh", "-c"]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@contextmanager
def ended_after(pid: int) -> Iterator[None]:
    """Kill `pid` at the end, should what is tested not have done so."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_what_left_for_a_session_of_its_own_is_ended_and_named(tmp_path: Path) -> None:
    leave = "setsid sh -c 'echo $$ >told; exec sleep 600' & read pid <told; echo $pid; exit 3"
    output = tmp_path / "output"
    with output.open("w") as stdout:
        result = subprocess.run([*KEEPER, f"mkfifo told; {leave}"], cwd=tmp_path, stdout=stdout).returncode
    pid = int(output.read_text().split()[0])
    with ended_after(pid):
        assert result == 3
        assert f"left behind: {pid} " in output.read_text()
        assert not is_alive(pid)


def test_what_ignores_a_request_to_end_is_killed(tmp_path: Path) -> None:
    # The shell itself stays, as it has a command to run after the sleep.
    leave = "sh -c 'trap : TERM; echo $$ >told; while :; do sleep 600; done' & read pid <told; echo $pid"
    environment = os.environ | {"KEEPER_PATIENCE_S": "0.2"}
    output = tmp_path / "output"
    with output.open("w") as stdout:
        command = [*KEEPER, f"mkfifo told; {leave}"]
        assert subprocess.run(command, cwd=tmp_path, env=environment, stdout=stdout).returncode == 0
    pid = int(output.read_text().split()[0])
    with ended_after(pid):
        assert not is_alive(pid)


def test_told_to_end_it_ends_everything_below_it() -> None:
    command = [*KEEPER, "echo $$; exec sleep 600"]
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE) as keeper:
        assert keeper.stdout is not None
        pid = int(keeper.stdout.readline())
        keeper.terminate()
        with ended_after(pid):
            assert keeper.wait() == 128 + signal.SIGTERM
            assert not is_alive(pid)


def test_an_orphan_that_ends_is_gone_while_the_command_goes_on() -> None:
    """A script that waits for such a pid to vanish would wait for ever."""
    wait = (
        "pid=$(sh -c 'sleep 0.1 >/dev/null & echo $!'); while kill -0 $pid 2>/dev/null; do sleep 0.05; done; echo gone"
    )
    done = subprocess.run([*KEEPER, wait], stdout=subprocess.PIPE, text=True, timeout=30)
    assert (done.stdout, done.returncode) == ("gone\n", 0)
