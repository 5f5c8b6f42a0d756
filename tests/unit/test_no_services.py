"""The installer lets no service start, and leaves the machine's policy as it was."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
OPERATORS_POLICY = "#!/bin/sh\nexit 104\n"


class Machine:
    """A policy-rc.d of our own, so that the real one is not touched."""

    def __init__(self, place: Path) -> None:
        self.policy = place / "policy-rc.d"
        self.place = place

    @contextmanager
    def installing(self, command: str) -> Iterator[subprocess.Popen[str]]:
        """`command` as the installer would run apt; whatever is left of it is killed at the end."""
        script = f"""
            set -euo pipefail
            . setup/no-services.sh
            policy={self.policy} saved={self.policy}.saved lock={self.place}/lock
            without_services bash -c '{command}'
        """
        start = ["/bin/bash", "-c", script]
        with subprocess.Popen(start, cwd=ROOT, text=True, stdout=-1, start_new_session=True) as process:
            try:
                yield process
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)

    def install(self, command: str) -> tuple[int, str]:
        with self.installing(command) as process:
            output, _ = process.communicate()
            return process.returncode, output

    def answer(self) -> int:
        """What a maintainer script would be told."""
        return subprocess.run([self.policy, "redis-server", "start"]).returncode


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def operated(machine: Machine) -> Machine:
    """A machine whose operator has a policy already."""
    machine.policy.write_text(OPERATORS_POLICY)
    machine.policy.chmod(0o755)
    return machine


def test_no_service_may_start_while_packages_are_installed(machine: Machine) -> None:
    assert machine.install(f"{machine.policy} redis-server start || echo told $?") == (0, "told 101\n")


@pytest.mark.parametrize("result", [0, 7])
def test_no_policy_is_left_behind(machine: Machine, result: int) -> None:
    assert machine.install(f"exit {result}")[0] == result
    assert not machine.policy.exists()


@pytest.mark.parametrize("result", [0, 7])
def test_the_operators_policy_is_put_back(operated: Machine, result: int) -> None:
    operated.install(f"exit {result}")
    assert operated.policy.read_text() == OPERATORS_POLICY


def test_a_killed_installer_forbids_nothing_and_the_next_one_cleans_up(operated: Machine) -> None:
    with operated.installing("echo begun; exec sleep 600") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert operated.answer() == 101
        os.killpg(process.pid, signal.SIGKILL)
    until(lambda: operated.answer() == 104, "the operator's policy to be asked again")
    operated.install("true")
    assert operated.policy.read_text() == OPERATORS_POLICY
