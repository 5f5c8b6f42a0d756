"""The unit files agree with the programs, with each other, and with the systemd they are rendered for."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from koala.exits import PERMANENT, Exit
from koala.settings import OTHERS, Settings

FOLDER = Path(__file__).resolve().parents[2] / "systemd"
WORKER, SCHEDULER, RUN = "koala-agent-worker@.service", "koala-agent-scheduler.service", "koala-agent-run@.service"
TIMER, STORE = "koala-agent-run@.timer", "redis-server@koala.service.d/koala.conf"
PROGRAMS = (WORKER, SCHEDULER, RUN)


def _render() -> ModuleType:
    spec = importlib.util.spec_from_file_location("koala_render", FOLDER / "render.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


render = _render()


def text(unit: str) -> str:
    return (FOLDER / unit).read_text("utf-8").replace("\\\n", "")


def values(unit: str, name: str) -> list[str]:
    """All values of a directive, in order."""
    return re.findall(rf"^{name}=(.*)$", text(unit), re.MULTILINE)


def value(unit: str, name: str) -> str:
    [found] = values(unit, name)
    return found


@pytest.mark.parametrize("unit", PROGRAMS)
def test_no_permanent_failure_is_restarted(unit: str) -> None:
    """And every other failure is, but of a oneshot those that a second try cannot mend."""
    kept = {int(code) for code in value(unit, "RestartPreventExitStatus").split()}
    of_a_wait = {Exit.USAGE, Exit.NOT_FOUND, Exit.REFUSED, Exit.TASK_FAILED, Exit.WAITING}
    assert kept == {int(code) for code in PERMANENT} | (of_a_wait if unit == RUN else set())
    assert value(unit, "Restart") == "on-failure"


@pytest.mark.parametrize("unit", [*PROGRAMS, STORE])
def test_restarts_and_resources_are_bounded(unit: str) -> None:
    for name in ("RestartSec", "StartLimitIntervalSec", "StartLimitBurst", "MemoryMax", "TasksMax", "TimeoutStopSec"):
        assert value(unit, name), name


@pytest.mark.parametrize("unit", [WORKER, SCHEDULER])
def test_the_start_limit_is_reached_however_slowly_it_restarts(unit: str) -> None:
    """Otherwise a program that can never start would be tried for ever."""
    most_s = int(value(unit, "RestartMaxDelaySec")) * int(value(unit, "StartLimitBurst"))
    assert most_s <= int(value(unit, "StartLimitIntervalSec"))


@pytest.mark.parametrize("unit", PROGRAMS)
def test_a_stop_reaches_the_program_alone_and_it_runs_as_nobody_else(unit: str) -> None:
    assert value(unit, "KillMode") == "mixed"
    assert value(unit, "Type") == ("oneshot" if unit == RUN else "exec")
    assert value(unit, "User") == value(unit, "Group") == "koala-agent"
    assert value(unit, "WorkingDirectory") == "/opt/koala/app"
    assert all(path.lstrip("-").startswith("/etc/koala/") for path in values(unit, "EnvironmentFile"))


def test_a_stop_gives_a_drain_its_time() -> None:
    assert int(value(WORKER, "TimeoutStopSec")) >= 2 * Settings.model_fields["drain_soft_s"].default


def test_a_worker_may_use_the_memory_its_slots_need() -> None:
    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    needed = defaults["slots"] * defaults["slot_bytes"] + defaults["worker_bytes"]
    assert needed <= int(value(WORKER, "MemoryMax").removesuffix("M")) * 2**20
    assert value(WORKER, "OOMPolicy") == "continue", "a page that dies must not end the worker"


@pytest.mark.parametrize("unit", PROGRAMS)
def test_secrets_come_as_credentials_and_every_variable_is_known(unit: str) -> None:
    set_ = dict(pair.split("=", 1) for line in values(unit, "Environment") for pair in line.split())
    assert set_["KOALA_SECRETS_DIR"] == "%d"
    assert (
        value(unit, "LoadCredential") == f"redis_password:/etc/koala/secrets/{set_['KOALA_REDIS_USER']}/redis_password"
    )
    known = {f"KOALA_{name.upper()}" for name in Settings.model_fields} | OTHERS
    assert {name for name in set_ if name.startswith("KOALA_")} <= known


def test_what_is_closed_is_closed_to_all_and_chromiums_sandbox_is_left_to_the_worker() -> None:
    def closed(unit: str) -> set[str]:
        lines = text(unit).partition("NoNewPrivileges=")[2].partition("[Install]")[0]
        return {line for line in lines.splitlines()[1:] if line and not line.startswith("#")}

    assert closed(SCHEDULER) == closed(RUN)
    others = {line.partition("=")[0] for line in closed(WORKER) ^ closed(SCHEDULER)}
    loosened = {"RestrictNamespaces", "SystemCallFilter", "RestrictAddressFamilies", "MemoryDenyWriteExecute"}
    assert others == loosened | {"BindReadOnlyPaths"}
    assert set(value(WORKER, "RestrictNamespaces").split()) == {"user", "pid", "net"}
    assert {"chroot", "seccomp"} <= set(value(WORKER, "SystemCallFilter").split())


def test_a_timer_names_its_zone_and_makes_up_for_what_was_missed() -> None:
    assert value(TIMER, "OnCalendar").endswith(" UTC")
    assert value(TIMER, "Persistent") == "true"
    assert value(TIMER, "FixedRandomDelay") == "true"
    assert int(value(TIMER, "RandomizedDelaySec")) > 0


def test_what_a_version_does_not_know_is_left_out_and_said() -> None:
    told, left = render.render(text(WORKER), 252)
    assert left == ["RestartSteps", "RestartMaxDelaySec"]
    assert "\n# systemd 252 does not know this, 254 does: RestartSteps=5\n" in told
    assert "KOALA_SECRETS_DIR=%d" in told
    assert render.render(text(WORKER), 254) == (text(WORKER), [])
    older, _ = render.render(text(WORKER), 249)
    assert "KOALA_SECRETS_DIR=/run/credentials/%n " in older


def test_a_systemd_without_credentials_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert render.main(["246", str(FOLDER), str(tmp_path)]) == 1
    assert "systemd 246 is too old" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_every_unit_is_rendered(tmp_path: Path) -> None:
    assert render.main(["252", str(FOLDER), str(tmp_path)]) == 0
    made = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {*PROGRAMS, TIMER, STORE}


def test_timers_moments_are_understood() -> None:
    if shutil.which("systemd-analyze") is None:
        pytest.skip("needs systemd-analyze")
    command = ["systemd-analyze", "calendar", value(TIMER, "OnCalendar")]
    assert "Next elapse" in subprocess.run(command, capture_output=True, text=True, check=True).stdout
