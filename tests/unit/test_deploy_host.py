"""What the tool needs of its machine: settings, `.env`, a lock, Docker, and nothing but Python's own library."""

from __future__ import annotations

import ast
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from deploy import advice, engine, envfile, lock, memory, settings
from deploy.__main__ import main
from deploy.engine import Engine
from deploy.exits import MEANINGS, STOPPED, Exit
from deploy.images import parse as image
from deploy.problem import DockerFailed, Problem
from deploy.project import env_path
from deploy.services import Services
from koala import exits

ROOT = Path(__file__).resolve().parents[2]


def _imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_the_tool_imports_nothing_that_the_host_s_python_lacks() -> None:
    imported = {name for path in (ROOT / "deploy").rglob("*.py") for name in _imports(path)}
    assert imported <= sys.stdlib_module_names | {"deploy"}


def test_it_starts_without_any_installed_package() -> None:
    command = [
        sys.executable,
        "-I",
        "-S",
        "-c",
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); import deploy.__main__",
    ]
    assert subprocess.run(command, check=False).returncode == 0


def test_its_exit_codes_are_those_of_koala() -> None:
    shared = {code.name: int(code) for code in exits.Exit}
    assert {code.name: int(code) for code in Exit if code is not Exit.INTERRUPTED}.items() <= shared.items()
    assert {int(code) for code in exits.PERMANENT} <= MEANINGS.keys()
    assert exits.Exit.OK in STOPPED


def test_a_variable_is_set_in_place_and_all_else_stays(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("# mine\nKOALA_TAG=old # why\nexport KOALA_SLOTS='3'\n\nOTHER=1\n")
    path.chmod(0o640)
    envfile.write(path, {"KOALA_TAG": "new", "KOALA_WORKERS": "4", "OTHER": None})
    assert path.read_text() == "# mine\nKOALA_TAG=new\nexport KOALA_SLOTS='3'\n\nKOALA_WORKERS=4\n"
    assert path.stat().st_mode & 0o777 == 0o640
    assert envfile.read(path) == {"KOALA_TAG": "new", "KOALA_SLOTS": "3", "KOALA_WORKERS": "4"}


def test_a_file_that_is_not_there_is_empty_and_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    assert envfile.read(tmp_path / ".env") == {}
    envfile.write(tmp_path / ".env", {"KOALA_TAG": "new"})
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600


def test_nothing_is_written_where_nothing_changes(tmp_path: Path) -> None:
    path = tmp_path / ".env"
    path.write_text("KOALA_TAG=one")
    envfile.write(path, {"KOALA_TAG": "one", "GONE": None})
    assert path.read_text() == "KOALA_TAG=one"


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("A=b # c", "b"),
        ('A="b # c"', "b # c"),
        ("A=", ""),
        ("A= b ", "b"),
        ("A=b#c", "b#c"),
        ("A=#c", ""),
        ('A="', '"'),
    ],
)
def test_values_are_read_as_compose_reads_them(tmp_path: Path, line: str, value: str) -> None:
    (tmp_path / ".env").write_text(f"{line}\n")
    assert envfile.read(tmp_path / ".env") == {"A": value}


def test_the_file_is_the_one_that_compose_is_told(tmp_path: Path) -> None:
    assert env_path(tmp_path, {}) == tmp_path / ".env"
    assert env_path(tmp_path, {"COMPOSE_ENV_FILES": "a.env,/b/c.env"}) == Path("/b/c.env")


def test_the_lock_is_held_by_one_and_names_its_holder(tmp_path: Path) -> None:
    path = tmp_path / "x" / "lock"
    refused = pytest.raises(Problem, match=rf"deploy rollout.*process {os.getpid()}")
    with lock.held(path, "rollout"), refused as error, lock.held(path, "scale"):
        pytest.fail("it was held twice")
    assert error.value.exit_code == Exit.REFUSED
    with lock.held(path, "scale"):
        pass


KILLED = """
import os, signal, subprocess, sys
from pathlib import Path
from deploy import lock
with lock.held(Path(sys.argv[1]), "restore") as held:
    left = subprocess.Popen(["sleep", "60"], pass_fds=(held,), stdout=subprocess.DEVNULL, start_new_session=True)
    print(left.pid, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_what_a_killed_holder_has_begun_holds_the_lock_on_and_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "lock"
    done = subprocess.run([sys.executable, "-c", KILLED, path], cwd=ROOT, stdout=subprocess.PIPE, check=False)
    waited: list[float] = []

    def sleep(seconds: float) -> None:
        waited.append(seconds)
        os.kill(int(done.stdout), signal.SIGKILL)

    monkeypatch.setattr("deploy.interrupt.sleep", sleep)
    with lock.held(path, "up"):
        assert waited
    assert "`deploy restore` is gone" in capsys.readouterr().err


def test_every_docker_command_inherits_the_lock(tmp_path: Path) -> None:
    asked = Engine(tmp_path, _docker(tmp_path, "readlink /proc/$$/fd/* || true"))
    with lock.held(tmp_path / "lock", "up") as held:
        assert str(tmp_path / "lock") not in asked.docker("info")
        asked.lent = (held,)
        assert str(tmp_path / "lock") in asked.docker("info")


def test_the_environment_counts_before_the_file() -> None:
    made = settings.load({"KOALA_BATCH": "3"}, {"KOALA_BATCH": "2", "KOALA_WATCH_S": "5"})
    assert (made.batch, made.watch_s, made.surge) == (3, 5.0, -1)


def test_every_variable_of_the_tool_is_explained() -> None:
    named = set(re.findall(r'"((?:KOALA|COMPOSE)_[A-Z_]+)"', Path(settings.__file__).read_text("utf-8")))
    explained = (ROOT / "docs" / "deployment.md").read_text("utf-8")
    assert len(named) >= 9
    assert {name for name in named if f"`{name}`" not in explained} == set()


def test_a_tag_in_the_file_is_what_runs_and_no_wish_for_the_next_one() -> None:
    assert settings.load({}, {"KOALA_TAG": "old"}).tag == ""
    assert settings.load({"KOALA_TAG": "new"}, {}).tag == "new"


def test_minimal_leaves_out_monitoring_and_the_standby() -> None:
    made = settings.load({"KOALA_MINIMAL": "1"}, {"COMPOSE_PROFILES": "monitoring"})
    assert (made.profiles, made.schedulers) == ("", 1)
    assert settings.load({}, {}).schedulers == 2


@pytest.mark.parametrize("given", [{"KOALA_BATCH": "many"}, {"KOALA_WATCH_S": "-1"}])
def test_a_setting_that_is_wrong_is_named(given: dict[str, str]) -> None:
    with pytest.raises(Problem, match=next(iter(given))):
        settings.load(given, {})


@pytest.mark.parametrize(
    ("said", "do", "code"),
    [
        ("Cannot connect to the Docker daemon at unix:///x. Is the docker daemon running?", "systemctl", Exit.ENGINE),
        ("permission denied while trying to connect to the Docker daemon socket", "usermod", Exit.ENGINE),
        ("docker: 'compose' is not a docker command.", "2.20", Exit.ENGINE),
        ("required variable KOALA_SECRETS_DIR is missing a value: no secrets yet", "make up", Exit.FAILED),
        ("Bind for 127.0.0.1:3000 failed: port is already allocated", "KOALA_GRAFANA_PORT", Exit.FAILED),
        ("write /x: no space left on device", "disk is full", Exit.FAILED),
        ("pull access denied for koala", "KOALA_TAG", Exit.FAILED),
        ("container koala-redis-1 is unhealthy", "make status", Exit.FAILED),
        ("something that nobody has seen before", "make logs", Exit.FAILED),
    ],
)
def test_every_failure_of_docker_comes_with_what_to_do(said: str, do: str, code: Exit) -> None:
    what, exit_code = advice.about(said)
    assert do in what
    assert exit_code == code


def _docker(folder: Path, script: str) -> dict[str, str]:
    """A PATH on which `docker` is this script."""
    program = folder / "docker"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


def test_a_failed_command_is_named_with_its_last_words_and_not_with_compose_s_progress(tmp_path: Path) -> None:
    script = "printf ' Container koala-worker-1  Starting\\nno space left on device\\n' >&2; exit 17"
    with pytest.raises(DockerFailed, match=r"docker compose up.* ended with 17: no space left on device$") as failed:
        Engine(tmp_path, _docker(tmp_path, script)).docker("compose", "up")
    assert "disk is full" in failed.value.advice


@pytest.mark.parametrize(
    ("script", "what"),
    [
        ('[ "$1" = version ] && echo 19.03.1', "engine is 19.03.1"),
        ('[ "$1" = version ] && echo 27.0 || exit 1', "Compose is missing"),
        ('[ "$1" = version ] && echo 27.0 || echo v2.19.1', "Compose is 2.19.1"),
    ],
)
def test_a_docker_that_is_too_old_or_lacks_compose_is_refused(tmp_path: Path, script: str, what: str) -> None:
    with pytest.raises(Problem, match=what) as refused:
        Engine(tmp_path, _docker(tmp_path, script)).check()
    assert refused.value.exit_code == Exit.ENGINE


def test_versions_from_the_oldest_on_do(tmp_path: Path) -> None:
    Engine(tmp_path, _docker(tmp_path, '[ "$1" = version ] && echo 20.10.24 || echo 2.20.0')).check()


def test_a_machine_without_docker_is_told_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["status"]) == Exit.ENGINE
    assert "install Docker" in capsys.readouterr().err


def test_what_is_gone_meanwhile_is_left_out_of_a_look(tmp_path: Path) -> None:
    script = """echo '[{"Id": "a"}]'; echo 'Error: No such object: b' >&2; exit 1"""
    assert engine.Engine(tmp_path, _docker(tmp_path, script)).inspect("a", "b") == [{"Id": "a"}]


STOPS = """
import sys
from deploy import interrupt
interrupt.install()
with interrupt.meaning("the drain goes on; once more: at once"):
    try:
        print("ready", flush=True)
        while True:
            interrupt.sleep(60) if sys.argv[1] == "waits" else sum(range(1000))
    except interrupt.Interrupted:
        sys.exit("stopped at a safe point")
    except KeyboardInterrupt:
        sys.exit("stopped at once")
"""


@pytest.mark.parametrize(("how", "signals", "end"), [("waits", 1, "at a safe point"), ("works", 2, "at once")])
def test_the_first_signal_waits_for_a_safe_point_and_says_what_a_second_one_does(
    how: str, signals: int, end: str
) -> None:
    command = [sys.executable, "-u", "-c", STOPS, how]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        assert program.stdout
        assert program.stderr
        assert program.stdout.readline() == "ready\n"
        program.send_signal(signal.SIGINT)
        assert program.stderr.readline() == "the drain goes on; once more: at once\n"
        for _ in range(signals - 1):
            program.send_signal(signal.SIGINT)
        assert program.stderr.readline() == f"stopped {end}\n"


def _image(**config: object) -> dict[str, object]:
    return {"Id": "sha256:1", "RepoTags": ["koala:1"], "RootFS": {"Layers": ["a", "b"]}, "Config": config}


def test_two_builds_of_one_source_are_the_same_whatever_their_tags() -> None:
    one = image(_image(Env=["A=1", "KOALA_IMAGE=1"], Cmd=["koala"]))
    assert one.content == image(_image(Env=["KOALA_IMAGE=2", "A=1"], Cmd=["koala"])).content
    assert one.content != image(_image(Env=["A=2"], Cmd=["koala"])).content


CONFIG = {
    "name": "koala",
    "services": {
        "worker": {
            "image": "r:5000/koala:7", "build": {"context": "."}, "scale": 3,
            "deploy": {"resources": {"limits": {"memory": "1000"}}}, "environment": {"KOALA_SLOTS": "4"},
        },
        "scheduler": {"image": "r:5000/koala:7", "build": {"context": "."}, "deploy": {"replicas": 2}},
        "operator": {"image": "r:5000/koala:7", "profiles": ["tools"]},
        "grafana": {"image": "grafana", "profiles": ["monitoring"]},
    },
    "volumes": {"data": {"name": "koala_data"}, "redis": None},
}  # fmt: skip


def test_what_compose_fills_in_is_read() -> None:
    found = Services(CONFIG)
    assert found.image() == ("r:5000/koala", "7")
    assert (found.replicas("worker"), found.replicas("scheduler"), found.memory("worker")) == (3, 2, 1000)
    assert found.started("") == ["worker", "scheduler"]
    assert found.started("monitoring") == ["worker", "scheduler", "grafana"]
    assert found.optional() == ["grafana"]
    assert len(found.built(["worker", "scheduler"])) == 1
    assert found.variable("worker", "KOALA_SLOTS", "2") == "4"
    assert found.volumes == ["koala_data", "koala_redis"]


def test_room_is_what_is_left_beside_all_limits() -> None:
    assert memory.room(10_000, 1_000, 2_000, 3) == 1
    assert memory.room(10_000, 9_000, 2_000, 3) == 0
    assert memory.room(10_000, 0, 0, 3) is None
